package lab

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"github.com/griffin-search/griffin"
	"github.com/griffin-search/griffin/trec"
)

// The toy collection replaces the wiki passages if experiments only have to
// work. Words follow Zipf's law. Documents belong to small articles, each with
// its own topic, so that terms co-occur and cluster.
const (
	toyDocs    = 4000
	toyTokens  = 60
	toyWords   = 3000
	toyTopics  = 40
	toyArticle = 8
	toyQueries = 400
)

type toyText struct {
	*rand.Rand
}

// Every third word belongs to the topic.
func (t toyText) word(topic int) string {
	rank := int(math.Pow(toyWords, t.Float64())) // P(rank <= r) = log r / log toyWords
	if t.IntN(3) == 0 {
		return fmt.Sprintf("t%dw%d", topic, rank%60)
	}
	return fmt.Sprintf("w%d", rank)
}

func (t toyText) text(topic, words int) string {
	var b strings.Builder
	for range words {
		b.WriteString(t.word(topic))
		b.WriteByte(' ')
	}
	return b.String()
}

func (env *Env) makeToy(ctx context.Context, dir string) (err error) {
	ix, err := griffin.Create(dir, griffin.Settings{Analyzer: "simple", Fields: []string{}, NoStored: true, NoPositions: true}, griffin.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ix.Close()) }()
	rng := toyText{rand.New(rand.NewPCG(env.Seed, 1))}
	var docs []griffin.Document
	for i := range toyDocs {
		topic := rand.New(rand.NewPCG(env.Seed, uint64(i/toyArticle))).IntN(toyTopics)
		docs = append(docs, griffin.Document{ID: fmt.Sprintf("toy%d", i), Text: rng.text(topic, toyTokens/2+rng.IntN(toyTokens))})
	}
	if err := ix.Add(ctx, docs...); err != nil {
		return err
	}
	return ix.Commit(ctx)
}

func toyLog(name string, seed uint64) []trec.Topic {
	rng := toyText{rand.New(rand.NewPCG(seed, uint64(name[len(name)-1])))}
	var topics []trec.Topic
	for i := range toyQueries {
		n := 1 + (i*7+i/13)%6
		topics = append(topics, trec.Topic{ID: fmt.Sprint(i + 1), Title: rng.text(rng.IntN(toyTopics), n)})
	}
	return topics
}
