package base

import (
	"errors"
	"fmt"
	"testing"
)

func TestMembers(t *testing.T) {
	text := []byte(` { "a" : 1 , "b\u0063":[ {"x":2}, "y" ],"d":{}} `)
	members, err := Members(text)
	if err != nil || len(members) != 3 {
		t.Fatal(members, err)
	}
	names := fmt.Sprintf("%s=%s %s=%s %s=%s", members[0].Name, members[0].Value, members[1].Name, members[1].Value, members[2].Name, members[2].Value)
	if names != `a=1 bc=[ {"x":2}, "y" ] d={}` {
		t.Error(names)
	}
	elements, err := Elements(members[1].Value)
	if err != nil || len(elements) != 2 || string(elements[0]) != `{"x":2}` || string(elements[1]) != `"y"` {
		t.Fatalf("%q, %v", elements, err)
	}
	elements[0][1] = '!'
	if string(text) != ` { "a" : 1 , "b\u0063":[ {!x":2}, "y" ],"d":{}} ` {
		t.Errorf("the values are not in the memory of the text: %s", text)
	}
	for _, bad := range []string{``, `[]`, `1`, `{`, `{"a"}`, `{"a":1,}`, `{"a":1}}`, `{"a":1} 2`, `{"a":1,"a":2}`, `{1:2}`, `{"a":nul}`} {
		if _, err := Members([]byte(bad)); !errors.Is(err, ErrBadInput) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	for _, bad := range []string{``, `{}`, `1`, `[`, `[1,]`, `[1] 2`, `[1]]`, `[nul]`} {
		if _, err := Elements([]byte(bad)); !errors.Is(err, ErrBadInput) {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func TestLocate(t *testing.T) {
	if Locate(nil, []byte("x")) != nil {
		t.Error("no error has become one")
	}
	inner := Locate(fmt.Errorf("k is -1: %w", ErrBadInput), []byte("inner"))
	outer := Locate(fmt.Errorf("query: %w", inner), []byte("outer"))
	if got := Places(outer); fmt.Sprintf("%s", got) != "[inner outer]" || Message(outer) != "query: k is -1" || !errors.Is(outer, ErrBadInput) {
		t.Errorf("%v, %s", outer, got)
	}
	if got := Places(ErrBadInput); got != nil {
		t.Errorf("%s", got)
	}
}
