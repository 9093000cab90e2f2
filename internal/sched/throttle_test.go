package sched

import (
	"testing"
	"time"
)

// crowdDeadline is the time that shed jobs had.
const crowdDeadline = 8 * time.Millisecond

// crowd asks a throttle at a rate, and sheds jobs beyond a capacity, both in queries a second.
type crowd struct {
	throttle throttle
	closing  closing
	now      time.Duration
	delay    time.Duration // until a woken goroutine runs
	within   time.Duration // of the queries that ask
}

func (c *crowd) run(rate, capacity int, d time.Duration) (passed, refused, shed int) {
	step, room := time.Second/time.Duration(rate), 0.0
	for end := c.now + d; c.now < end; c.now += step {
		room = min(room+float64(capacity)/float64(rate), 100)
		if c.throttle.refuses(c.now, c.within, &c.closing) {
			refused++
			continue
		}
		passed++
		c.throttle.jobs.Add(1)
		c.throttle.woke(c.delay)
		if room < 1 {
			c.throttle.countShed(crowdDeadline, &Overload{Reason: TooLate})
			shed++
			continue
		}
		room--
	}
	return passed, refused, shed
}

func newCrowd() *crowd {
	c := &crowd{delay: time.Millisecond, within: crowdDeadline}
	c.closing.seen.shed.Store(seenLeast)
	return c
}

// The share that is refused follows the rate, so that few are shed and most of the capacity is used.
func TestThrottleFollows(t *testing.T) {
	const capacity = 40_000
	c := newCrowd()
	if _, refused, _ := c.run(capacity*9/10, capacity, time.Second); refused > 0 {
		t.Errorf("%d are refused below the capacity", refused)
	}
	for _, factor := range []int{2, 4, 3} {
		c.run(factor*capacity, capacity, 300*time.Millisecond) // it settles
		passed, refused, shed := c.run(factor*capacity, capacity, time.Second)
		t.Logf("%d times the capacity of %d: %d passed, %d were refused, %d shed", factor, capacity, passed, refused, shed)
		if done := passed - shed; done < capacity*9/10 {
			t.Errorf("%d times the capacity: %d were done, the capacity is %d", factor, done, capacity)
		}
		if shed > capacity/6 {
			t.Errorf("%d times the capacity: %d were shed after they had passed", factor, shed)
		}
	}
	c.run(capacity/2, capacity, 300*time.Millisecond)
	if _, refused, shed := c.run(capacity/2, capacity, time.Second); refused+shed > 0 {
		t.Errorf("afterwards %d are refused and %d shed at half of the capacity", refused, shed)
	}
}

// After a pause nothing of an overload is left.
func TestThrottleForgets(t *testing.T) {
	c := newCrowd()
	c.run(100_000, 10_000, 500*time.Millisecond)
	c.now += time.Second
	if _, refused, _ := c.run(5_000, 10_000, time.Second); refused > 0 {
		t.Errorf("%d are refused a second after an overload", refused)
	}
}

// Some queries pass even if none can be done.
func TestThrottleLetsSomePass(t *testing.T) {
	c := newCrowd()
	c.run(100_000, 1, time.Second)
	passed, refused, _ := c.run(100_000, 1, time.Second)
	if refused == 0 || passed < 100_000/40 {
		t.Errorf("%d passed and %d were refused", passed, refused)
	}
	var s Stats
	c.throttle.count(&s)
	if s.Arrived == 0 || s.Arrived != s.Shed[TooLate] || s.Arrived < int64(refused) {
		t.Errorf("%d refused queries are counted as %d arrived and %d shed", refused, s.Arrived, s.Shed[TooLate])
	}
}

// If CPUs take many jobs of those that closings meet, none is refused.
func TestThrottleKnowsOthers(t *testing.T) {
	c := newCrowd()
	c.closing.seen.others.Store(seenLeast)
	if _, refused, _ := c.run(100_000, 10_000, time.Second); refused > 0 {
		t.Errorf("%d are refused", refused)
	}
}

// While the GPU is the limit, more pass, so that it can choose.
func TestThrottleKnowsProcessors(t *testing.T) {
	const capacity = 40_000
	c := newCrowd()
	c.delay = busyDelay / 2
	c.run(2*capacity, capacity, 300*time.Millisecond)
	passed, refused, shed := c.run(2*capacity, capacity, time.Second)
	if passed < capacity*6/5 || passed > capacity*7/5 || refused == 0 || passed-shed < capacity*95/100 {
		t.Errorf("of twice the capacity of %d, %d passed, %d were refused and %d shed", capacity, passed, refused, shed)
	}
}

// Queries with more time than those that are shed pass, unless the queue is full.
func TestThrottleKnowsDeadlines(t *testing.T) {
	for _, within := range []time.Duration{2 * crowdDeadline, Never} {
		c := newCrowd()
		c.run(100_000, 10_000, 500*time.Millisecond)
		c.within = within
		if _, refused, _ := c.run(100_000, 10_000, time.Second); refused > 0 {
			t.Errorf("%d with %v are refused", refused, within)
		}
	}
	c := newCrowd()
	c.run(100_000, 10_000, 500*time.Millisecond)
	c.within = Never
	c.throttle.countShed(crowdDeadline, &Overload{Reason: QueueFull})
	if _, refused, _ := c.run(100_000, 10_000, 2*throttleWindow); refused == 0 {
		t.Error("none is refused although the queue was full")
	}
}
