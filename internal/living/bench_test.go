package living

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/griffin-search/griffin/internal/corpus"
	"github.com/griffin-search/griffin/internal/index"
	"github.com/griffin-search/griffin/internal/plan/plantest"
	"github.com/griffin-search/griffin/internal/vfs"
)

// BenchmarkApply writes passages of the wiki collection with 4 clients, each batch of about 1 MB synced
// before its acknowledgement, and reports MB of text a second until all is visible.
func BenchmarkApply(b *testing.B) {
	const numDocs = 200_000
	lines := plantest.WikiSlice(b, numDocs)
	dir := b.TempDir()
	docs := readDocs(b, plantest.WriteLines(b, dir, "wiki", lines))
	for b.Loop() {
		ix, err := index.Create(vfs.OS, b.TempDir()+"/ix", index.Options{})
		check(b, err)
		w, err := ix.Writer(index.WriterOptions{})
		check(b, err)
		check(b, w.Commit(b.Context()))
		check(b, w.Close())
		s, err := Open(b.Context(), vfs.OS, ix, Options{OnError: func(err error) { b.Error(err) }})
		check(b, err)
		var next, bytes atomic.Int64
		var group sync.WaitGroup
		began := time.Now()
		const size = 1500
		for range 4 {
			group.Go(func() {
				for {
					from := int(next.Add(size)) - size
					if from >= len(docs) {
						return
					}
					var ops []Op
					for i := from; i < min(from+size, len(docs)); i++ {
						ops = append(ops, Op{Doc: &docs[i]})
						bytes.Add(int64(len(docs[i].Title) + len(docs[i].Text)))
					}
					if _, err := s.Apply(b.Context(), ops); err != nil {
						b.Error(err)
						return
					}
				}
			})
		}
		group.Wait()
		acknowledged := time.Since(began)
		check(b, s.Refresh(b.Context()))
		took := time.Since(began)
		b.ReportMetric(float64(bytes.Load())/1e6/took.Seconds(), "MB/s")
		b.ReportMetric(float64(bytes.Load())/1e6/acknowledged.Seconds(), "ack-MB/s")
		b.ReportMetric(float64(numSegments(s.ix)), "segments")
		began = time.Now()
		check(b, s.Close(b.Context()))
		b.ReportMetric(time.Since(began).Seconds(), "close-s")
		check(b, ix.Close())
	}
}

func readDocs(b *testing.B, path string) (docs []corpus.Document) {
	b.Helper()
	r, err := corpus.Open([]string{path}, corpus.Options{})
	check(b, err)
	defer r.Close()
	for {
		batch, err := r.Next()
		if errors.Is(err, io.EOF) {
			return docs
		}
		check(b, err)
		check(b, batch.Parse(func(d *corpus.Document) error {
			docs = append(docs, *d)
			return nil
		}, func(e *corpus.RecordError) error { return e }))
	}
}

// BenchmarkRecover opens an index whose documents no commit has, and reports MB of log a second, and the
// processor time for a MB. After the end of a process there is a checkpoint, after a loss of power it is
// damaged, and there is only the log.
func BenchmarkRecover(b *testing.B) {
	for _, checkpoint := range []bool{true, false} {
		b.Run(fmt.Sprintf("checkpoint=%v", checkpoint), func(b *testing.B) { benchmarkRecover(b, checkpoint) })
	}
}

func benchmarkRecover(b *testing.B, checkpoint bool) {
	docs := readDocs(b, plantest.WriteLines(b, b.TempDir(), "wiki", plantest.WikiSlice(b, 200_000)))
	for b.Loop() {
		b.StopTimer()
		ix, err := index.Create(vfs.OS, b.TempDir()+"/ix", index.Options{})
		check(b, err)
		w, err := ix.Writer(index.WriterOptions{})
		check(b, err)
		check(b, errors.Join(w.Commit(b.Context()), w.Close()))
		opts := Options{OnError: func(err error) { b.Error(err) }}
		s, err := Open(b.Context(), vfs.OS, ix, opts)
		check(b, err)
		for from := 0; from < len(docs); from += 2000 {
			var ops []Op
			for i := from; i < min(from+2000, len(docs)); i++ {
				ops = append(ops, Op{Doc: &docs[i]})
			}
			_, err := s.Apply(b.Context(), ops)
			check(b, err)
		}
		size := s.log.Stats().SizeBytes
		check(b, s.end()) // without a flush
		if !checkpoint {
			check(b, os.Remove(filepath.Join(ix.Dir(), "CHECKPOINT")))
		}
		b.StartTimer()
		began, cpu := time.Now(), processorTime(b)
		s, err = Open(b.Context(), vfs.OS, ix, opts)
		check(b, err)
		b.ReportMetric(float64(size)/1e6/time.Since(began).Seconds(), "MB/s")
		b.ReportMetric(float64((processorTime(b)-cpu).Milliseconds())/(float64(size)/1e6), "cpu-ms/MB")
		b.StopTimer()
		check(b, errors.Join(s.Close(b.Context()), ix.Close()))
		b.StartTimer()
	}
}

// processorTime is what this process has used on all processors.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	check(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
