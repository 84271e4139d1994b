package cmd

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// one returns a check that a command has exactly one argument. Error messages refer to the argument
// by name.
func one(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) == 0:
			return misuse(fmt.Sprintf("%s is missing: %s", name, strings.TrimSuffix(cmd.UseLine(), " [flags]")))
		case len(args) > 1:
			return misuse(fmt.Sprintf("only one %s is allowed; unexpected %q (quote a name that has spaces)", name, args[1]))
		}
		return nil
	}
}

// day is the duration of the unit d in a span.
const day = 24 * time.Hour

// span is the value of a duration flag that accepts days: 90m, 12h, 7d, 1d12h.
type span time.Duration

// Set parses text as a duration and stores it in s.
func (s *span) Set(text string) error {
	wrong := errors.New("write it like 90m, 12h or 7d")
	rest := text
	var days time.Duration
	if number, tail, ok := strings.Cut(text, "d"); ok {
		n, err := strconv.ParseUint(number, 10, 32)
		if err != nil || n > math.MaxInt64/uint64(day) {
			return wrong
		}
		days, rest = time.Duration(n)*day, tail
	}
	if rest == "" && text != "" {
		*s = span(days)
		return nil
	}
	d, err := time.ParseDuration(rest)
	if err != nil || d > math.MaxInt64-days {
		return wrong
	}
	*s = span(days + d)
	return nil
}

func (s *span) String() string { return time.Duration(*s).String() }

// Type returns the type name that help texts show.
func (s *span) Type() string { return "time" }
