//go:build !amd64 || noasm

package letters

func classify(window *[WindowLen]byte) (letters, others, middles uint64) {
	return classifyBytes(window)
}
