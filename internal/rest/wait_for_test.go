package rest

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

// Requests that wait for a refresh do not keep others from writing.
func TestWaitForLetsOthersWrite(t *testing.T) {
	n := openNode(t, t.TempDir(), Options{MaxWrites: 1})
	n.must(200, "PUT /a", `{"settings":{"index":{"refresh_interval":"-1"}}}`)
	n.must(201, "PUT /a/_doc/0", `{"n":0}`)
	x, err := n.d.find("a")
	if err != nil {
		t.Fatal(err)
	}
	x.refresh.interval.Store(int64(300 * time.Millisecond))
	for request, body := range map[string]string{
		"PUT /a/_doc/1": `{"n":1}`, "POST /a/_update/0": `{"doc":{"n":1}}`, "DELETE /a/_doc/2": "", "POST /a/_bulk": `{"index":{}}` + "\n{}\n",
		"POST /a/_bulk?large": strings.Repeat(`{"index":{}}`+"\n{}\n", 10_000),
	} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			target, _, _ := strings.Cut(request, "?")
			if answer := n.do(target+"?refresh=wait_for", body); answer.Code >= 400 && answer.Code != http.StatusNotFound {
				t.Errorf("%s: %d %s", request, answer.Code, answer.Body)
			}
		}()
		waits := false
		for deadline := time.Now().Add(20 * time.Second); !waits && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
			x.refresh.mu.Lock()
			waits = x.refresh.next != nil
			x.refresh.mu.Unlock()
		}
		want := 0
		if strings.HasSuffix(request, "?large") { // much memory is kept until the answer is sent
			want = 1
		}
		if got := len(n.h.writes); got != want || !waits {
			t.Errorf("%s: %d requests write while it waits (%t), want %d", request, got, waits, want)
		}
		if want == 0 {
			n.must(201, "POST /a/_doc", `{"n":2}`)
		}
		<-done
		if got := len(n.h.writes); got != 0 {
			t.Errorf("%s: %d requests write at the end", request, got)
		}
	}
}
