package main

import (
	"encoding/xml"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	got := parse("a \x1b[1;36mb\x1b[0mc\x1b[K\nlong line\n\n", 6)
	want := [][]run{
		{{text: "a ", color: -1}, {column: 2, text: "b", bold: true, color: 6}, {column: 3, text: "c", color: -1}},
		{{text: "long l", color: -1}},
		{{text: "ine", color: -1}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("parse = %+v\nwant    %+v", got, want)
	}
}

func TestDrawIsXML(t *testing.T) {
	var b strings.Builder
	draw(&b, "a <b> & c", parse("x \x1b[2m<y> \"&\"\x1b[0m", 80), 80)
	d := xml.NewDecoder(strings.NewReader(b.String()))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in\n%s", err, b.String())
		}
	}
	if !strings.Contains(b.String(), `class="d">&lt;y&gt; &#34;&amp;&#34;</text>`) {
		t.Error(b.String())
	}
}
