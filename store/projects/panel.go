package projects

import (
	"errors"
	"fmt"

	"tracker/store/domain"
	"tracker/store/json"
	"tracker/store/runs"
)

// These constants limit the layout of the charts of a saved view.
const (
	MaxLayout       = 64 << 10 // bytes of the layout as JSON
	MaxSections     = 50
	MaxPanels       = 500 // panels of all sections
	MaxPanelMetrics = 8   // metrics of a line chart
	MaxPanelText    = 16 << 10
)

// PanelType is the type of a panel.
type PanelType string

// The types of panels.
const (
	MetricPanel    PanelType = "metric"    // the place of the chart that a metric has by default
	LinePanel      PanelType = "line"      // curves of Metrics
	BarPanel       PanelType = "bar"       // value X of each run
	ScatterPanel   PanelType = "scatter"   // value Y over value X of each run
	HistogramPanel PanelType = "histogram" // distribution of value X over the runs
	TextPanel      PanelType = "text"      // Markdown in Text
)

// Layout is the layout of the charts on a page: sections with panels. The charts of metrics that
// are in no section follow in their default sections.
type Layout struct {
	Sections []Section `json:"sections"`
}

// Section is a section of a layout.
type Section struct {
	Name string `json:"name"`
	// Prefix is the part of a metric's name before the first slash. The charts of metrics with
	// this prefix are in the section by default; "" stands for metrics without a slash. It is
	// nil for a section without a default.
	Prefix *string `json:"prefix,omitzero"`
	Panels []Panel `json:"panels"`
}

// Panel is a panel of a section. X and Y are names of parameters or of statistics of metrics in
// the search language, for example metric.loss.min.
type Panel struct {
	ID      string    `json:"id,omitzero"` // unique in the layout; "" if Type is MetricPanel
	Type    PanelType `json:"type"`
	Title   string    `json:"title,omitzero"`
	Metrics []string  `json:"metrics,omitzero"`
	X       string    `json:"x,omitzero"`
	Y       string    `json:"y,omitzero"`
	Text    string    `json:"text,omitzero"`
}

// encode returns the layout as JSON. It returns nil for the default layout, which has no
// sections, and INVALID_PAYLOAD if the layout is invalid or too large.
func (l *Layout) encode() (*string, error) {
	if l == nil || len(l.Sections) == 0 {
		return nil, nil
	}
	if err := l.check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	if len(b) > MaxLayout {
		return nil, domain.Invalid("panels", "The panels are too large to be saved: they have %d bytes, and at most %d are allowed. Remove some panels or shorten their texts.", len(b), MaxLayout)
	}
	return new(string(b)), nil
}

// decodeLayout is the inverse of Layout.encode. It returns INVALID_PAYLOAD if text is not a valid
// layout.
func decodeLayout(text *string) (*Layout, error) {
	if text == nil {
		return nil, nil
	}
	var l Layout
	if err := json.Unmarshal([]byte(*text), &l); err != nil {
		return nil, domain.Invalid("panels", "The stored panels of the view can't be read. Save the view again.")
	}
	return &l, l.check()
}

func (l *Layout) check() error {
	if len(l.Sections) > MaxSections {
		return domain.Invalid("panels", "A view can have at most %d sections, not %d.", MaxSections, len(l.Sections))
	}
	prefixes, ids, metrics := map[string]bool{}, map[string]bool{}, map[string]bool{}
	count := 0
	for i, s := range l.Sections {
		at := fmt.Sprintf("panels.sections[%d]", i)
		if err := domain.CheckName(at+".name", s.Name); err != nil {
			return err
		}
		if s.Prefix != nil {
			if err := domain.CheckShort(at+".prefix", *s.Prefix); err != nil {
				return err
			}
			if prefixes[*s.Prefix] {
				return domain.Invalid(at+".prefix", "Two sections have the prefix %q; each section needs another prefix.", *s.Prefix)
			}
			prefixes[*s.Prefix] = true
		}
		if count += len(s.Panels); count > MaxPanels {
			return domain.Invalid("panels", "A view can have at most %d panels. Remove some panels.", MaxPanels)
		}
		for j, p := range s.Panels {
			at := fmt.Sprintf("%s.panels[%d]", at, j)
			if err := p.check(at); err != nil {
				return err
			}
			seen, name := ids, p.ID
			if p.Type == MetricPanel {
				seen, name = metrics, p.Metrics[0]
			}
			if seen[name] {
				return domain.Invalid(at, "The panel %q occurs twice; remove one of them.", name)
			}
			seen[name] = true
		}
	}
	return nil
}

func (p Panel) check(at string) error {
	err := domain.OneOf(at+".type", p.Type, MetricPanel, LinePanel, BarPanel, ScatterPanel, HistogramPanel, TextPanel)
	if err == nil {
		err = domain.CheckShort(at+".title", p.Title)
	}
	if err != nil {
		return err
	}
	if p.Type == MetricPanel {
		if p.ID != "" || len(p.Metrics) != 1 {
			return domain.Invalid(at, "A panel of type metric has one metric and no id.")
		}
	} else if err := domain.CheckName(at+".id", p.ID); err != nil {
		return err
	}
	if p.Type == LinePanel && (len(p.Metrics) < 1 || len(p.Metrics) > MaxPanelMetrics) {
		return domain.Invalid(at+".metrics", "A line chart has 1 to %d metrics, not %d.", MaxPanelMetrics, len(p.Metrics))
	}
	lines := p.Type == MetricPanel || p.Type == LinePanel
	for i, key := range p.Metrics {
		if err := domain.CheckKey(key); err != nil || !lines {
			return domain.Invalid(fmt.Sprintf("%s.metrics[%d]", at, i), "metrics must contain names of metrics, in panels of type metric or line.")
		}
	}
	for _, v := range []struct {
		name, text string
		wanted     bool
	}{
		{"x", p.X, p.Type == BarPanel || p.Type == ScatterPanel || p.Type == HistogramPanel},
		{"y", p.Y, p.Type == ScatterPanel},
	} {
		if err := checkPanelValue(at+"."+v.name, v.text, v.wanted); err != nil {
			return err
		}
	}
	switch {
	case p.Type != TextPanel && p.Text != "":
		return domain.Invalid(at+".text", "Only panels of type text have a text.")
	case len(p.Text) > MaxPanelText:
		return domain.Invalid(at+".text", "The text of a panel can have at most %d bytes, not %d.", MaxPanelText, len(p.Text))
	}
	return domain.CheckText(at+".text", p.Text)
}

// checkPanelValue checks that text names one value of runs if wanted is true, and that it is
// empty otherwise.
func checkPanelValue(field, text string, wanted bool) error {
	if !wanted {
		if text != "" {
			return domain.Invalid(field, "This type of panel has no value %q.", text)
		}
		return nil
	}
	columns, err := runs.Columns(text)
	if bad := (*domain.Error)(nil); err != nil && !errors.As(err, &bad) {
		return err
	}
	if err != nil || len(columns) != 1 {
		return domain.Invalid(field, "Choose one parameter or metric, like param.lr or metric.loss.min.")
	}
	return nil
}
