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
		Short:   "Move, count and clean up the stored bytes of artifacts",
		Long: `Move, count and clean up the stored bytes of artifacts. These commands also work while a
server runs. Use the settings of the server: the database does not record where the artifacts
are stored.`,
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

// size formats a number of bytes, such as "1.5 MB".
func size(n int64) string { return humanize.Bytes(uint64(max(n, 0))) }

// count formats n with commas as thousands separators.
func count(n int) string { return humanize.Comma(int64(n)) }

// things formats a number with its singular or plural noun.
func things(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return count(n) + " " + many
}

// progressPause is the time between two progress lines.
const progressPause = 10 * time.Second

// byteProgress shows the progress of work on total bytes. On a terminal it draws a bar.
// Otherwise it prints a line every progressPause.
type byteProgress struct {
	w     io.Writer
	what  string
	total int64
	done  int64
	bar   *progressbar.ProgressBar // nil if stderr is not a terminal
	last  time.Time                // time of the last printed line
}

func (a *app) newByteProgress(what string, total int64) *byteProgress {
	p := &byteProgress{w: a.stderr, what: what, total: total, last: time.Now()}
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

// set sets the number of finished bytes and updates the display.
func (p *byteProgress) set(done int64) {
	p.done = min(done, p.total)
	switch {
	case p.bar != nil:
		_ = p.bar.Set64(p.done) // drawing errors are harmless
	case time.Since(p.last) >= progressPause:
		p.last = time.Now()
		fmt.Fprintf(p.w, "%s: %s of %s\n", p.what, size(p.done), size(p.total))
	}
}

// clear removes the bar so that the caller can print a line. The next call of set redraws the
// bar.
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
