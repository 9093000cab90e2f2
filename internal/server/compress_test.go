package server

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/zstd"
)

func TestAcceptedCoding(t *testing.T) {
	for accept, want := range map[string]*coding{
		"": nil, "identity": nil, "br": nil, "deflate, br": nil, "gzip": gzipCoding, "GZIP": gzipCoding, "x-gzip": gzipCoding, "zstd": zstdCoding,
		"gzip, deflate, br, zstd": zstdCoding, "gzip;q=1.0, zstd;q=0.5": gzipCoding, "gzip;q=0.5, zstd; q=0.8": zstdCoding, "gzip;q=0": nil, "gzip;q=0, zstd;q=0": nil,
		"*": zstdCoding, "*;q=0": nil, "zstd;q=0, *": gzipCoding, "identity;q=1, gzip;q=0.5": nil, "identity;q=0.5, gzip": gzipCoding, "gzip;q=x": nil, "gzip;Q=0.5": gzipCoding,
		"gzip;q=nan": nil, "gzip;q=inf": nil, "gzip;q=-1": nil, "gzip;q=1.1": nil, "zstd;q=nan, gzip;q=0.1": gzipCoding,
		";;,,=": nil,
	} {
		if got := acceptedCoding([]string{accept}); got != want {
			t.Errorf("%q: %+v, want %+v", accept, got, want)
		}
	}
	if got := acceptedCoding([]string{"br", "gzip"}); got != gzipCoding {
		t.Errorf("two headers: %+v", got)
	}
}

// unpacked reads an answer's body.
func unpacked(t *testing.T, coding string, body io.Reader) []byte {
	t.Helper()
	var err error
	switch coding {
	case "gzip":
		if body, err = gzip.NewReader(body); err != nil {
			t.Fatal(err)
		}
	case "zstd":
		d, err := zstd.NewReader(body)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		body = d
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// Answers are the same in each coding, many at a time; short ones, and those that are compressed already, stay as they are.
func TestCompressedAnswers(t *testing.T) {
	handler := compressed(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		n, _ := strconv.Atoi(r.FormValue("n"))
		seed, _ := strconv.ParseUint(r.FormValue("seed"), 10, 64)
		rng := rand.New(rand.NewPCG(seed, 0))
		var body bytes.Buffer
		for body.Len() < n {
			fmt.Fprintf(&body, "{\"word\":%d}", rng.IntN(1000))
		}
		body.Truncate(n)
		w.Header().Set("Content-Type", r.FormValue("type"))
		if r.FormValue("packed") != "" {
			w.Header().Set("Content-Encoding", "other")
		}
		if r.FormValue("streamed") == "" {
			w.Header().Set("Content-Length", strconv.Itoa(n))
			w.WriteHeader(http.StatusTeapot)
			_, _ = w.Write(body.Bytes())
			return
		}
		for body.Len() > 0 {
			_, _ = w.Write(body.Next(1000))
			if err := http.NewResponseController(w).Flush(); err != nil {
				t.Error(err)
			}
		}
	}))
	server := httptest.NewServer(handler)
	defer server.Close()
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	get := func(method, query, accept string) (*http.Response, []byte) {
		r, err := http.NewRequestWithContext(t.Context(), method, server.URL+"/?"+query, http.NoBody)
		if err != nil {
			t.Error(err)
			return nil, nil
		}
		if accept != "" {
			r.Header.Set("Accept-Encoding", accept)
		}
		response, err := client.Do(r)
		if err != nil {
			t.Error(err)
			return nil, nil
		}
		defer response.Body.Close()
		return response, unpacked(t, response.Header.Get("Content-Encoding"), response.Body)
	}
	var running sync.WaitGroup
	for i := range 60 {
		running.Go(func() {
			query := fmt.Sprintf("n=%d&seed=%d&type=application/json", minCompressed+i*i*50, i)
			if i%3 == 0 {
				query += "&streamed=1"
			}
			plain, want := get(http.MethodGet, query, "")
			for _, accept := range []string{"gzip", "zstd"} {
				response, got := get(http.MethodGet, query, accept)
				if response == nil || plain == nil {
					return
				}
				if plain.Header.Get("Vary") != "Accept-Encoding" || plain.Header.Get("Content-Encoding") != "" {
					t.Errorf("%s, not compressed: %v", query, plain.Header)
				}
				if !bytes.Equal(got, want) || response.StatusCode != plain.StatusCode || response.Header.Get("Content-Encoding") != accept || response.Header.Get("Vary") != "Accept-Encoding" {
					t.Errorf("%s: status %d, %v, %d bytes, want %d bytes", query, response.StatusCode, response.Header, len(got), len(want))
				}
			}
		})
	}
	running.Wait()
	for _, query := range []string{
		fmt.Sprintf("n=%d&type=application/json", minCompressed-1), "n=0&type=text/plain", "n=5000&type=image/png", "n=5000&type=text/html&packed=1",
	} {
		if response, _ := get(http.MethodGet, query, "gzip"); response == nil || strings.Contains("gzip", response.Header.Get("Content-Encoding")) && response.Header.Get("Content-Encoding") != "" || response.ContentLength < 0 || response.Header.Get("Vary") != "" {
			t.Errorf("%s: %v", query, response)
		}
	}
	if response, _ := get(http.MethodHead, "n=5000&type=text/html", "gzip"); response == nil || response.ContentLength != 5000 || response.Header.Get("Content-Encoding") != "" || response.Header.Get("Vary") != "Accept-Encoding" {
		t.Errorf("HEAD: %v", response)
	}
}

// A panic in the middle of a compressed answer does not end it as if it were whole.
func TestCompressedPanic(t *testing.T) {
	server := httptest.NewServer(compressed(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = w.Write(make([]byte, 100_000))
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	})))
	defer server.Close()
	response, err := http.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if text, err := io.ReadAll(response.Body); err == nil || !response.Uncompressed {
		t.Errorf("%d bytes without an error", len(text))
	}
}

// curl takes compressed answers, over HTTP/1.1 and over HTTP/2 without TLS.
func TestCurl(t *testing.T) {
	curl, err := exec.LookPath("curl")
	switch {
	case err != nil && os.Getenv("CI") == "true":
		t.Fatal("there is no curl, which .ci/setup installs")
	case err != nil:
		t.Skip("there is no curl")
	}
	r := start(t, newHandler(Options{Logger: quiet()}, fakeBackend()), patience, patientLimits())
	version, err := exec.Command(curl, "--version").Output()
	if err != nil {
		t.Fatal(err)
	}
	flags := map[string][]string{"1.1": nil}
	if strings.Contains(string(version), "HTTP2") {
		flags["2"] = []string{"--http2-prior-knowledge"}
	}
	for want, more := range flags {
		args := append([]string{"-sS", "--fail", "--compressed", "-o", "-", "-w", "\n%{http_version}", "http://" + r.addr + "/"}, more...)
		out, err := exec.CommandContext(t.Context(), curl, args...).CombinedOutput()
		page, got, _ := strings.Cut(string(out), "</html>")
		if err != nil || strings.TrimSpace(got) != want || !strings.Contains(page, "<form") {
			t.Errorf("HTTP/%s: %v\n%s", want, err, out)
		}
	}
}
