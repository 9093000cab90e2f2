package pipeline

import "sync"

// recentCrowds is the number of crowds after which one that ran beside others is forgotten. The crowds of a pass end
// together, and the first to come again finds no other.
const recentCrowds = 8

// crowds counts the crowds of a device that run at the same time.
type crowds struct {
	mu      sync.Mutex
	running int
	recent  [recentCrowds]int // running when a crowd came
	next    int
}

// enter returns the maximum number of crowds at the same time, this one included, when one of the last recentCrowds came.
func (c *crowds) enter() (together int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running++
	c.recent[c.next] = c.running
	c.next = (c.next + 1) % recentCrowds
	for _, n := range c.recent {
		together = max(together, n)
	}
	return together
}

func (c *crowds) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
}
