package terminal

import (
	"strings"
	"testing"
)

func TestLine(t *testing.T) {
	for line, want := range map[string]string{
		"":                              "",
		"epoch 1":                       "epoch 1",
		"\x1b[31mError\x1b[0m: no file": "{red|Error}: no file",
		"\x1b[1;92mok\x1b[22m fine":     "{bold green|ok}{green| fine}",
		"\x1b[38;5;196mhot":             "{red|hot}",
		"\x1b[38;2;10;20;250mcold":      "{blue|cold}",
		"\x1b[48;5;1mground":            "ground",
		"\x1b[38;5;240mgrey":            "grey",
		" 10%|#   |\r 50%|##  |":        " 50%|##  |",
		"a long line\rshort":            "shortg line",
		"a long line\r\x1b[Kshort":      "short",
		"abc\b\bX":                      "aXc",
		"\x1b]0;title\adone":            "done",
		"\x1b]8;;http://x\x1b\\link":    "link",
		"\x1b[2A\x1b[?25lup":            "up",
		"bell\a\x00\u0085":              "bell",
		"ends with\x1b":                 "ends with",
		"ends in\x1b[3":                 "ends in",
		"\x1b[3Cthree":                  "   three",
		"<script>alert(1)</script>":     "<script>alert(1)</script>",
		"\x1b[7minverse\x1b[27m\tplain": "{inverse|inverse}\tplain",
	} {
		var got strings.Builder
		for _, s := range Line(line) {
			if s.Class != "" {
				got.WriteString("{" + s.Class + "|" + s.Text + "}")
			} else {
				got.WriteString(s.Text)
			}
		}
		if got.String() != want {
			t.Errorf("%q is %q, want %q", line, got.String(), want)
		}
	}
	if got := Plain("\x1b[31mred\x1b[0m 1\r\x1b[32mgr"); got != "grd 1" {
		t.Errorf("the plain text is %q", got)
	}
}

func FuzzLine(f *testing.F) {
	f.Add("\x1b[31mError\x1b[0m\r10%\b\x1b[999999999Cx\x1b[38;5")
	f.Fuzz(func(t *testing.T, line string) {
		if got := Plain(line); len(got) > 4*(len(line)+1)*maxColumns || strings.ContainsAny(got, "\x1b\r\b\x00") {
			t.Errorf("%q is %q", line, got)
		}
	})
}
