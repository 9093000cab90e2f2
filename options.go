package griffin

import (
	"errors"
	"fmt"

	"github.com/griffin-search/griffin/internal/derived"
	"github.com/griffin-search/griffin/internal/exec"
	"github.com/griffin-search/griffin/internal/score"
)

// Option sets up an index for Create or Open. Options that say how an index is
// made (all but WithBM25, WithMemory, WithThreads, WithCache, WithResultCache, WithDevice,
// WithGPUMemory, WithGPUHostMemory, WithoutCalibration and those about policies) are fixed
// by Create; Open ignores them.
type Option func(*config)

type config struct {
	analyzer      string
	codec         string
	fields        []string
	positions     bool
	weightScale   float64
	withoutStored bool
	bm25          *score.BM25
	memoryBytes   int64
	threads       int
	cacheBytes    int64
	resultBytes   int64
	gpu           exec.GPUOptions

	withoutCalibration bool
	dispatch           exec.DispatchOptions
}

func newConfig(opts []Option) (config, error) {
	c := config{cacheBytes: derived.DefaultLimit}
	for _, o := range opts {
		o(&c)
	}
	if b := c.bm25; b != nil && !(b.K1 >= 0 && b.K1 <= maxK1 && b.B >= 0 && b.B <= 1) {
		return c, fmt.Errorf("BM25 with k1 = %g, b = %g: k1 is to be within 0 and %d, b within 0 and 1: %w", b.K1, b.B, maxK1, ErrBadInput)
	}
	if c.memoryBytes < 0 || c.threads < 0 {
		return c, fmt.Errorf("memory of %d bytes, %d threads: neither can be negative: %w", c.memoryBytes, c.threads, ErrBadInput)
	}
	if c.cacheBytes < 0 {
		return c, fmt.Errorf("cache of %d bytes: it cannot be negative: %w", c.cacheBytes, ErrBadInput)
	}
	if c.resultBytes < 0 {
		return c, fmt.Errorf("result cache of %d bytes: it cannot be negative: %w", c.resultBytes, ErrBadInput)
	}
	return c, errors.Join(c.gpu.Check(), c.dispatch.Check())
}

// maxK1 bounds K1: with more, frequencies hardly saturate at all.
const maxK1 = 1000

// WithAnalyzer chooses how text becomes terms; Analyzers lists the names. The
// default is "english".
func WithAnalyzer(name string) Option { return func(c *config) { c.analyzer = name } }

// WithCodec chooses how posting lists are compressed; Codecs lists the names.
// The default is "simdbp".
func WithCodec(name string) Option { return func(c *config) { c.codec = name } }

// WithFields declares the fields that can be searched by name, beside the
// default field. Without it, "title" is the only one; WithFields() declares none.
func WithFields(names ...string) Option {
	return func(c *config) { c.fields = append([]string{}, names...) }
}

// WithPositions keeps where in a document each word stands, which phrases need.
func WithPositions() Option { return func(c *config) { c.positions = true } }

// WithWeights makes an index of vectors, as learned sparse models give them:
// documents have terms with weights (Document.Vector; the field "vector" of
// JSON Lines), queries too ({"term": 1.5, …}, or words, each of weight 1), and a
// score is the dot product of both. Weights are kept to a precision of 1/scale:
// 1 for models that give whole numbers up to 65535, 100 for most others.
func WithWeights(scale float64) Option { return func(c *config) { c.weightScale = scale } }

// WithoutStored keeps no text: hits then have neither title nor snippet, and
// the index is a third to a half of the size.
func WithoutStored() Option { return func(c *config) { c.withoutStored = true } }

// WithBM25 sets the parameters of the ranking function; 0.9 and 0.4 where they
// are not set. With Create they are kept in the index; with Open they hold for
// the searches of this Index only, which prune a little less.
func WithBM25(k1, b float32) Option {
	return func(c *config) { c.bm25 = &score.BM25{K1: k1, B: b} }
}

// WithMemory bounds the memory that IndexFiles and Add use, in bytes. The
// default is 1 GiB.
func WithMemory(sizeBytes int64) Option { return func(c *config) { c.memoryBytes = sizeBytes } }

// WithCache bounds the memory of what traversals compute from posting lists and
// keep for later queries, such as the bounds and postings by range of
// block-max-pruning, in bytes. The default is 512 MiB; 0 keeps nothing. Posting
// lists are not in it: they are mapped files.
func WithCache(sizeBytes int64) Option { return func(c *config) { c.cacheBytes = sizeBytes } }

// WithThreads sets how many processors indexing uses; 0, the default, is all.
func WithThreads(n int) Option { return func(c *config) { c.threads = n } }
