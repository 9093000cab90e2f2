package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/griffin-search/griffin/bench/living/process"
)

// soakReport is the result of a soak, with bytes of the bodies of bulk requests.
type soakReport struct {
	Seconds        float64 `json:"seconds"`
	Documents      int64   `json:"documents"`
	MBPerSecond    float64 `json:"mb_per_second"` // acknowledged
	LongestPauseMS float64 `json:"longest_pause_ms"`
	// Answers with status 429, which the clients repeat.
	Refused int64 `json:"refused"`
	// From before a write to after a refresh on request that follows its acknowledgement.
	VisibleP50MS float64 `json:"visible_p50_ms"`
	VisibleP99MS float64 `json:"visible_p99_ms"`
	VisibleMaxMS float64 `json:"visible_max_ms"`
	// Of the server.
	AmplifiedBytes    float64 `json:"written_per_byte"` // to the disk
	ProcessorMSPerMB  float64 `json:"processor_ms_per_mb"`
	MaxRSSBytes       int64   `json:"max_rss_bytes"`
	ClientProcessorMS float64 `json:"client_processor_ms_per_mb"`
	// MB in each second.
	EachSecond []float64 `json:"mb_each_second"`
}

// soak measures bulk requests to a server, a process of the program griffin.
type soak struct {
	options
	url    string
	pid    int
	bodies []bulkBody

	next                  atomic.Int64 // body to send
	bytes, refused, pause atomic.Int64
	last                  atomic.Int64 // time of the last acknowledgement
	failed                atomic.Pointer[error]
	perSecond             []atomic.Int64
}

// bulkBody is a request whose ids have the same number of digits each time that it is sent.
type bulkBody struct {
	data []byte
	ids  []int // offsets of the ids
	mu   sync.Mutex
}

const idDigits = 12

func runSoak(ctx context.Context, o options) (r soakReport, err error) {
	s := &soak{options: o, perSecond: make([]atomic.Int64, o.seconds+1)}
	if err := s.readBodies(); err != nil {
		return r, err
	}
	dir, err := os.MkdirTemp(o.dir, "soak")
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	server := exec.CommandContext(ctx, o.griffin, "serve", filepath.Join(dir, "data"), "--addr", "127.0.0.1:0", "--device", "cpu", "--json")
	server.Stderr = os.Stderr
	out, err := server.StdoutPipe()
	if err != nil {
		return r, err
	}
	if err := server.Start(); err != nil {
		return r, err
	}
	defer func() {
		err = errors.Join(err, server.Process.Signal(syscall.SIGTERM), server.Wait())
	}()
	var started struct {
		URL string `json:"url"`
	}
	if err := json.NewDecoder(out).Decode(&started); err != nil {
		return r, fmt.Errorf("start of the server: %w", err)
	}
	s.url, s.pid = strings.TrimSuffix(started.URL, "/"), server.Process.Pid
	return s.run(ctx)
}

// readBodies makes bulk requests of the passages.
func (s *soak) readBodies() error {
	var b *bulkBody
	n := 0
	return eachLine(s.passages, func(line []byte) error {
		var d struct {
			Title string `json:"title"`
			Text  string `json:"text"`
		}
		if err := json.Unmarshal(line, &d); err != nil {
			return err
		}
		source, err := json.Marshal(d)
		if err != nil {
			return err
		}
		if n%s.batch == 0 {
			s.bodies = append(s.bodies, bulkBody{})
			b = &s.bodies[len(s.bodies)-1]
		}
		n++
		b.data = append(b.data, `{"index":{"_id":"`...)
		b.ids = append(b.ids, len(b.data))
		b.data = append(b.data, strings.Repeat("0", idDigits)+"\"}}\n"...)
		b.data = append(append(b.data, source...), '\n')
		return nil
	})
}

func (s *soak) run(ctx context.Context) (r soakReport, err error) {
	began, own := time.Now(), processorMS("self")
	until := began.Add(s.phase())
	s.last.Store(began.UnixNano())
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: s.clients + 1}}
	var group sync.WaitGroup
	for range s.clients {
		group.Go(func() { s.fail(s.write(ctx, client, began, until)) })
	}
	var visible []time.Duration
	group.Go(func() {
		var err error
		visible, err = s.watch(ctx, client, until)
		s.fail(err)
	})
	group.Wait()
	if err := s.failed.Load(); err != nil {
		return r, *err
	}
	took := time.Since(began).Seconds()
	mb := float64(s.bytes.Load()) / 1e6
	slices.Sort(visible)
	r = soakReport{
		Seconds: took, Documents: s.next.Load() * int64(s.batch), MBPerSecond: mb / took,
		LongestPauseMS: ms(time.Duration(s.pause.Load())), Refused: s.refused.Load(),
		VisibleP50MS: at(visible, 50), VisibleP99MS: at(visible, 99), VisibleMaxMS: at(visible, 100),
		ProcessorMSPerMB: float64(processorMS(strconv.Itoa(s.pid))) / mb, ClientProcessorMS: float64(processorMS("self")-own) / mb,
		MaxRSSBytes: process.Of(s.pid).Memory().Peak,
	}
	for i := range s.perSecond[:s.seconds] {
		r.EachSecond = append(r.EachSecond, float64(s.perSecond[i].Load()/1e4)/100)
	}
	if _, _, err := s.post(ctx, client, "/wiki/_flush", nil); err != nil {
		return r, err
	}
	r.AmplifiedBytes = float64(process.Of(s.pid).WrittenBytes()) / 1e6 / mb
	return r, nil
}

func (s *soak) fail(err error) {
	if err != nil {
		s.failed.CompareAndSwap(nil, &err)
	}
}

// write sends bodies until the end, and repeats those that the server refuses for the moment.
func (s *soak) write(ctx context.Context, client *http.Client, began, until time.Time) error {
	for time.Now().Before(until) && s.failed.Load() == nil {
		n := int(s.next.Add(1)) - 1
		b := &s.bodies[n%len(s.bodies)]
		if err := s.send(ctx, client, b, n*s.batch); err != nil {
			return err
		}
		now := time.Now()
		if pause := now.UnixNano() - s.last.Swap(now.UnixNano()); pause > s.pause.Load() {
			s.pause.Store(pause)
		}
		s.bytes.Add(int64(len(b.data)))
		s.perSecond[min(int(now.Sub(began).Seconds()), s.seconds)].Add(int64(len(b.data)))
	}
	return nil
}

func (s *soak) send(ctx context.Context, client *http.Client, b *bulkBody, firstID int) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for i, at := range b.ids {
		copy(b.data[at:], fmt.Sprintf("%0*d", idDigits, firstID+i))
	}
	for {
		status, answer, err := s.post(ctx, client, "/wiki/_bulk", b.data)
		switch {
		case err != nil:
			return err
		case status == http.StatusOK && bytes.Contains(answer[:min(len(answer), 64)], []byte(`"errors":false`)):
			return nil
		case status == http.StatusTooManyRequests || bytes.Contains(answer, []byte(`"status":429`)):
			s.refused.Add(1)
			time.Sleep(100 * time.Millisecond)
		default:
			return fmt.Errorf("bulk request: status %d: %.200s", status, answer)
		}
	}
}

func (s *soak) post(ctx context.Context, client *http.Client, path string, body []byte) (status int, answer []byte, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.url+path, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	r.Header.Set("Content-Type", "application/x-ndjson")
	response, err := client.Do(r)
	if err != nil {
		return 0, nil, err
	}
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, errors.Join(err, response.Body.Close())
}

// watch measures the time until a write is visible, four times a second.
func (s *soak) watch(ctx context.Context, client *http.Client, until time.Time) (took []time.Duration, err error) {
	const every = 250 * time.Millisecond
	for n := 0; time.Now().Before(until) && s.failed.Load() == nil; n++ {
		began := time.Now()
		id := fmt.Sprintf("visible-%d", n)
		if _, _, err := s.post(ctx, client, "/wiki/_doc/"+id, fmt.Appendf(nil, `{"title":"visible","text":"visible%d"}`, n)); err != nil {
			return nil, err
		}
		if _, _, err := s.post(ctx, client, "/wiki/_refresh", nil); err != nil {
			return nil, err
		}
		took = append(took, time.Since(began))
		_, answer, err := s.post(ctx, client, "/wiki/_search", fmt.Appendf(nil, `{"query":{"match":{"text":"visible%d"}}}`, n))
		if err != nil || !bytes.Contains(answer, []byte(`"_id":"`+id+`"`)) {
			return nil, fmt.Errorf("%s is not visible after a refresh: %w: %.200s", id, err, answer)
		}
		time.Sleep(max(0, every-time.Since(began)))
	}
	return took, nil
}

// processorMS is what a process has used on all processors, by Linux; 0 elsewhere.
func processorMS(pid string) int64 {
	data, err := os.ReadFile("/proc/" + pid + "/stat")
	if err != nil {
		return 0
	}
	const ticksMS = 10
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	var sum int64
	for _, f := range fields[11:13] { // utime and stime
		n, _ := strconv.ParseInt(f, 10, 64)
		sum += n
	}
	return sum * ticksMS
}
