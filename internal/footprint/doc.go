// Package footprint reads how much memory this process has in use of its own, as the
// system counts it: [AnonymousBytes]. It is for metrics and for judging whether memory
// grows. It is not for what Go allocates (package runtime), nor for how much memory the
// process may take.
//
// Its functions may be called by several goroutines at once.
package footprint
