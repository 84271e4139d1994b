package filter

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestListsAreRefusedWithAPosition(t *testing.T) {
	filter := func(text string) func(*Parser) error {
		return func(p *Parser) error { _, err := p.Filter(text); return err }
	}
	sort := func(text string) func(*Parser) error {
		return func(p *Parser) error { _, err := p.Sort(text); return err }
	}
	columns := func(text string) func(*Parser) error {
		return func(p *Parser) error { _, err := p.Columns(text); return err }
	}
	group := func(text string) func(*Parser) error {
		return func(p *Parser) error { _, err := p.Group(text); return err }
	}
	for _, c := range []struct {
		parse func(*Parser) error
		part  string
		text  string // beginning of the error
	}{
		{filter("param.lr = "), "filter", "filter is wrong at character 12: write a number, or a text in quotes, here."},
		{sort("created,"), "sort", "sort is wrong at character 9: write param.NAME"},
		{sort("created desc"), "sort", "sort is wrong at character 9: write a comma before the next name"},
		{sort("created, --name"), "sort", "sort is wrong at character 11: write param.NAME"},
		{sort("-"), "sort", "sort is wrong at character 2: write param.NAME"},
		{sort("loss"), "sort", `sort is wrong at character 1: "loss" is not known`},
		{sort("+name"), "sort", "sort is wrong at character 1: write param.NAME"},
		{sort(repeat("name", ",", MaxSortKeys+1)), "sort", "sort is wrong at character 51: at most 10 names are allowed"},
		{columns("param.lr, name"), "columns", "columns is wrong at character 11: a column is param.NAME, metric.NAME or summary.NAME"},
		{columns("-param.lr"), "columns", "columns is wrong at character 1: write param.NAME"},
		{columns(","), "columns", "columns is wrong at character 1: write param.NAME"},
		{columns(repeat("param.x", ",", MaxColumns+1)), "columns", "columns is wrong at character 1601: at most 200 names are allowed"},
		{group(""), "group", "group is wrong at character 1: write param.NAME, summary.NAME or tag here"},
		{group("tag, name"), "group", "group is wrong at character 6: runs are grouped by param.NAME, summary.NAME or tag"},
		{group("param.x, tag, param.`x`"), "group", "group is wrong at character 15: this name is given twice"},
		{group("param.a,param.b,param.c,param.d,param.e,param.f,param.g"), "group", "group is wrong at character 49: at most 6 names are allowed"},
	} {
		err := c.parse(new(Parser))
		var refused *Error
		if !errors.As(err, &refused) || refused.Part != c.part || !strings.HasPrefix(err.Error(), c.text) {
			t.Errorf("%v, want %s", err, c.text)
		}
	}
}

func TestKeysOfFilterAndSortCountTogether(t *testing.T) {
	var p Parser
	if _, err := p.Filter(manyNames(MaxKeys)); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Columns("metric.loss"); err != nil {
		t.Errorf("a column counts: %v", err)
	}
	if _, err := p.Sort("-param.p0"); err != nil {
		t.Errorf("a key counts twice: %v", err)
	}
	_, err := p.Sort("metric.loss")
	if want := "sort is wrong at character 1: filter and sort can name at most 30"; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("%v, want %s", err, want)
	}
	if n := len(p.Keys()); n != MaxKeys {
		t.Errorf("%d keys are recorded, want %d", n, MaxKeys)
	}
}

func TestColumnsHaveLabels(t *testing.T) {
	columns, err := new(Parser).Columns("param.lr, metric.loss, metric.loss.Min, metric.`a b`.max, metric.`loss.min`, param.`lr`, param.x.min")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range columns {
		got = append(got, showRef(c.Ref)+" "+c.Label)
	}
	want := []string{"param{lr} lr", "metric{loss}last loss", "metric{loss}min loss.Min", "metric{a b}max a b.max",
		"metric{loss.min}last `loss.min`", "param{x.min} x.min"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}
