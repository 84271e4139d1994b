package cmd

import (
	"fmt"
	"io"
	"os"
	"time"

	"github.com/dustin/go-humanize"
	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"
)

func (a *app) artifactsCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "artifacts",
		GroupID: groupDatabase,
		Short:   "Move, count and clean up the bytes of artifacts",
		Long: `Move, count and clean up the bytes of artifacts. These commands work also while a server
has the database. Give them the settings of the server: where artifacts are is not in the
database.`,
		Example: `  tracker artifacts usage
  tracker artifacts gc
  tracker artifacts migrate --to s3`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return cmd.Help()
			}
			return misuse(fmt.Sprintf("unknown command %q for %q", args[0], cmd.CommandPath()))
		},
	}
	cmd.AddCommand(a.artifactsMigrateCommand(), a.artifactsGCCommand(), a.artifactsUsageCommand())
	return cmd
}

// size writes a number of bytes for a person.
func size(n int64) string { return humanize.Bytes(uint64(max(n, 0))) }

// things writes a number of them.
func things(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// progressPause is the time between two lines about work that goes on.
const progressPause = 10 * time.Second

// byteProgress shows how many of total bytes have been worked on: a bar on a
// terminal, elsewhere a line from time to time.
type byteProgress struct {
	w     io.Writer
	what  string
	total int64
	done  int64
	bar   *progressbar.ProgressBar // nil without a terminal
	told  time.Time
}

func (a *app) newByteProgress(what string, total int64) *byteProgress {
	p := &byteProgress{w: a.stderr, what: what, total: total, told: time.Now()}
	if f, ok := a.stderr.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		p.bar = progressbar.NewOptions64(total,
			progressbar.OptionSetWriter(f),
			progressbar.OptionSetDescription(what),
			progressbar.OptionSetWidth(20),
			progressbar.OptionShowBytes(true),
			progressbar.OptionThrottle(100*time.Millisecond),
			progressbar.OptionClearOnFinish())
	}
	return p
}

// set says that done of the bytes are behind us.
func (p *byteProgress) set(done int64) {
	p.done = min(done, p.total)
	switch {
	case p.bar != nil:
		_ = p.bar.Set64(p.done) // a line that can't be drawn is no reason to stop
	case time.Since(p.told) >= progressPause:
		p.told = time.Now()
		fmt.Fprintf(p.w, "%s: %s of %s\n", p.what, size(p.done), size(p.total))
	}
}

// clear takes the bar away, so that a line can be printed; set draws it again.
func (p *byteProgress) clear() {
	if p.bar != nil {
		_ = p.bar.Clear()
	}
}

func (p *byteProgress) end() {
	if p.bar != nil {
		_ = p.bar.Finish()
	}
}
