package vfstest

import (
	"io/fs"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"sync/atomic"
	"syscall"
)

// node is a file or a folder of a Disk.
type node struct {
	number uint64 // unlike that of all other nodes

	data    []byte // only appended to
	synced  int    // bytes that are durable
	dropped bool   // a Sync failed

	entries map[string]*node // of a folder
	durable map[string]*node // those after the last SyncDir
	changes []change         // since then
}

// change is a creation (to), a removal (from) or a renaming in a folder.
type change struct {
	from, to string
	node     *node
}

var numNodes atomic.Uint64

func newNode() *node { return &node{number: numNodes.Add(1)} }

func newFolder() *node {
	n := newNode()
	n.entries, n.durable = map[string]*node{}, map[string]*node{}
	return n
}

func (n *node) isFolder() bool { return n.entries != nil }

// find returns a file or folder below n, nil if missing.
func (n *node) find(name string) *node {
	for _, part := range split(name) {
		if part == "." {
			continue
		}
		if n = n.entries[part]; n == nil {
			return nil
		}
	}
	return n
}

// parent returns the folder of a name, and its last part.
func (n *node) parent(name string) (folder *node, last string, err error) {
	parts := split(name)
	if len(parts) == 0 || parts[0] == "." {
		return nil, "", syscall.EINVAL
	}
	for _, part := range parts[:len(parts)-1] {
		switch n = n.entries[part]; {
		case n == nil:
			return nil, "", fs.ErrNotExist
		case !n.isFolder():
			return nil, "", syscall.ENOTDIR
		}
	}
	return n, parts[len(parts)-1], nil
}

func (n *node) change(c change) {
	c.apply(n.entries)
	n.changes = append(n.changes, c)
}

// set adds or replaces an entry durably.
func (n *node) set(name string, child *node) { n.entries[name], n.durable[name] = child, child }

func (c *change) apply(entries map[string]*node) {
	if c.from != "" {
		if entries[c.from] != c.node {
			return
		}
		delete(entries, c.from)
	}
	if c.to != "" {
		entries[c.to] = c.node
	}
}

func (n *node) each(name string, file func(name string)) {
	if !n.isFolder() {
		file(name)
	}
	for part, child := range n.entries {
		child.each(filepath.Join(name, part), file)
	}
}

func (n *node) size() int {
	size := len(n.data)
	for _, child := range n.entries {
		size += child.size()
	}
	return size
}

// clone copies a tree; made has the copies.
func (n *node) clone(made map[*node]*node) *node {
	if c := made[n]; c != nil {
		return c
	}
	c := &node{number: n.number, data: slices.Clip(n.data), synced: n.synced, dropped: n.dropped}
	made[n] = c
	if !n.isFolder() {
		return c
	}
	entries := func(from map[string]*node) map[string]*node {
		to := make(map[string]*node, len(from))
		for name, child := range from {
			to[name] = child.clone(made)
		}
		return to
	}
	c.entries, c.durable = entries(n.entries), entries(n.durable)
	for _, ch := range n.changes {
		c.changes = append(c.changes, change{ch.from, ch.to, ch.node.clone(made)})
	}
	return c
}

// crash makes the tree after a power failure.
type crash struct {
	random  *rand.Rand
	changes int // of folders: 0: all are lost, 1: some, 2: none
	made    map[*node]*node
	// whole is set if the disk happens to have all contents, but for the content of victim, which may be nil.
	whole  bool
	victim *node
}

// choose draws what happens to contents.
func (c *crash) choose(root *node) {
	switch c.random.IntN(3) {
	case 0:
		c.whole = true
	case 1:
		c.whole = true
		if files := root.unsynced(nil); len(files) > 0 {
			c.victim = files[c.random.IntN(len(files))]
		}
	}
}

// unsynced appends the files that have unsynced content.
func (n *node) unsynced(files []*node) []*node {
	if n.synced < len(n.data) {
		files = append(files, n)
	}
	for _, name := range slices.Sorted(maps.Keys(n.entries)) {
		files = n.entries[name].unsynced(files)
	}
	return files
}

func (c *crash) after(n *node) *node {
	if made := c.made[n]; made != nil {
		return made
	}
	if !n.isFolder() {
		data := slices.Clip(n.data)
		if !c.whole || n == c.victim {
			data = n.tear(c.random)
		}
		made := &node{number: n.number, data: data, synced: len(data)}
		c.made[n] = made
		return made
	}
	made := newFolder()
	c.made[n] = made
	entries := maps.Clone(n.durable)
	for _, ch := range n.changes {
		if c.changes == 2 || c.changes == 1 && c.random.IntN(2) == 0 {
			ch.apply(entries)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		made.set(name, c.after(entries[name]))
	}
	return made
}

// tear returns what remains of a file.
func (n *node) tear(random *rand.Rand) []byte {
	unsynced := n.data[n.synced:]
	switch random.IntN(4) {
	case 0:
		return slices.Clip(n.data[:n.synced])
	case 1:
		return slices.Clip(n.data)
	}
	data := slices.Clip(n.data[:n.synced+random.IntN(len(unsynced)+1)])
	if random.IntN(2) == 0 {
		return data
	}
	data = slices.Clone(data)
	const sector = 512
	for at := n.synced; at < len(data); at += sector - at%sector {
		if random.IntN(2) == 0 {
			clear(data[at:min(at+sector-at%sector, len(data))])
		}
	}
	return data
}
