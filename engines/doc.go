// Package engines adds the engines of the papers to a program. Import it for its effect, and choose
// one by name:
//
//	import _ "github.com/griffin-search/griffin/engines"
//
//	runtime, err := griffin.NewRuntime(griffin.RuntimeOptions{
//		Engine: "griffin18:ratio=64",
//		GPU:    griffin.GPUOptions{Device: "gpu"},
//	})
//
// [github.com/griffin-search/griffin.Engines] describes them. Each answers queries as its paper does,
// end to end, with the hits and the scores of the default engine (saat: of its mode saat). They exist for measurements: the
// default engine is faster.
package engines
