package ui_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"context"

	"github.com/chromedp/chromedp"
)

// axe returns the script that checks the accessibility of a page.
var axe = sync.OnceValues(func() (string, error) {
	source, err := os.ReadFile("testdata/axe/axe.min.js")
	return string(source), err
})

// TestVendoredAxe compares axe with the recorded version and hash.
func TestVendoredAxe(t *testing.T) {
	source, err := axe()
	if err != nil {
		t.Fatal(err)
	}
	note, err := os.ReadFile("testdata/axe/vendored.txt")
	if err != nil {
		t.Fatal(err)
	}
	if sum := fmt.Sprintf("sha256 %x", sha256.Sum256([]byte(source))); !strings.Contains(string(note), sum) {
		t.Errorf("axe.min.js has the %s, which vendored.txt does not know", sum)
	}
}

// wcag holds the rule sets of axe that the pages must satisfy: WCAG up to 2.2, AA, and axe's best
// practices.
var wcag = []string{"wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"}

// accessible checks the page in its current state. If contrast is set, it checks only colours.
func (b *browser) accessible(state string, contrast bool) {
	b.t.Helper()
	source, err := axe()
	if err != nil {
		b.t.Fatal(err)
	}
	only := map[string]any{"type": "tag", "values": wcag}
	if contrast {
		only = map[string]any{"type": "rule", "values": []string{"color-contrast"}}
	}
	rules, err := json.Marshal(only)
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(b.ctx, 2*patience)
	defer cancel()
	found, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](`(async () => {
		if (!window.axe) { `+source+` }
		const { violations } = await window.axe.run(document, { resultTypes: ['violations'], preload: false, runOnly: `+string(rules)+`,
			rules: { 'target-size': { enabled: true } } });
		return violations.map((v) => v.id + ', ' + v.nodes.length + ' times: ' + v.nodes.slice(0, 3)
			.map((n) => n.target.join(' ') + ' ' + n.html.slice(0, 160) + ' ' + n.failureSummary).join('\n'));
	})()`, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", state, err)
	}
	for _, f := range found {
		b.t.Errorf("%s: %s", state, f)
	}
}
