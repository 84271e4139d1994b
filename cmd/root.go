// Package cmd is the command line. It reads the settings, wires the parts of
// the service together, and speaks to a person; the rules are the store's.
package cmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"tracker/store"
)

// Main runs the command line args, without the name of the program, and
// returns its exit code: 0, 1 when what was asked failed, 2 when it was asked
// in a wrong way. env holds NAME=value pairs. The first interrupt ends what
// runs in good order, the second one ends the process with code 1.
func Main(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := interruptible(ctx, stderr)
	defer stop()
	a := &app{env: env, stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(append([]string{}, args...)) // never nil, which cobra takes for os.Args
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	ran, err := root.ExecuteContextC(ctx)
	return a.exit(ctx, ran, err)
}

// interruptible returns a context that ends with the first interrupt.
func interruptible(ctx context.Context, stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	done := make(chan struct{})
	go func() {
		select {
		case <-signals:
			cancel()
		case <-done:
			return
		}
		select {
		case <-signals:
			fmt.Fprintln(stderr, "tracker: ended at once by a second signal")
			os.Exit(1)
		case <-done:
		}
	}()
	return ctx, func() {
		signal.Stop(signals)
		close(done)
		cancel()
	}
}

// app is one run of the command line.
type app struct {
	env            []string
	stdin          io.Reader
	stdout, stderr io.Writer
	envFile        string // of --env-file, "" for .env where there is one
}

// failure is an error of a command that was asked in the right way.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// misuse is an error in what was asked.
type misuse string

func (m misuse) Error() string { return string(m) }

// run marks the errors of fn as failures, apart from misuse and from what
// cobra finds wrong before fn is called.
func run(fn func(cmd *cobra.Command, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		err := fn(cmd, args)
		var wrong misuse
		if err == nil || errors.As(err, &wrong) {
			return err
		}
		return failure{err}
	}
}

// exit tells what went wrong and returns the code to exit with.
func (a *app) exit(ctx context.Context, ran *cobra.Command, err error) int {
	var failed failure
	var wrong mistakes
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &failed):
		fmt.Fprintf(a.stderr, "tracker: %s\nSee '%s --help'.\n", strings.TrimSpace(err.Error()), ran.CommandPath())
		return 2
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(a.stderr, "tracker: interrupted")
	case errors.As(err, &wrong):
		for _, m := range wrong {
			fmt.Fprintln(a.stderr, "tracker:", m.text)
		}
	default:
		fmt.Fprintln(a.stderr, "tracker:", err)
	}
	return 1
}

func (a *app) warn(format string, args ...any) {
	fmt.Fprintf(a.stderr, "tracker: warning: "+format+"\n", args...)
}

// The headings of the commands in the help text.
const (
	groupServer   = "server"
	groupAccounts = "accounts"
	groupDatabase = "database"
)

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "tracker",
		Short: "Record machine-learning experiments",
		Long: `Tracker records machine-learning experiments: parameters, metrics, and where they
came from. It is one program with one database file. ` + "`tracker serve`" + ` starts the API
that trainings log to and the dashboard to look at them.

Every setting can be given as a flag, in the environment, or in a file of
environment variables (.env in the working directory, or --env-file). A flag wins
over the environment, which wins over the file. ` + "`tracker config`" + ` shows the result.`,
		Example: `  tracker serve                  # start in this folder, then open the dashboard
  tracker seed --demo            # fill the database with something to look at
  tracker user add ada --admin   # make an account
  tracker backup monday.db       # copy the database, also while it is served`,
		Version:       Version(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetVersionTemplate("tracker {{.Version}}\n")
	root.PersistentFlags().StringVar(&a.envFile, "env-file", "",
		"`file` of NAME=value lines to read settings from (default .env, if there is one)")
	root.AddGroup(
		&cobra.Group{ID: groupServer, Title: "Server:"},
		&cobra.Group{ID: groupAccounts, Title: "Accounts:"},
		&cobra.Group{ID: groupDatabase, Title: "Database:"})
	root.AddCommand(
		a.serveCommand(), a.configCommand(), a.healthCommand(), a.benchCommand(), a.clientCommand(), a.versionCommand(),
		a.userCommand(), a.resetPasswordCommand(), a.tokenCommand(),
		a.seedCommand(), a.backupCommand(), a.restoreCommand(), a.checkCommand(), a.artifactsCommand())
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		a.showInForce(cmd)
		help(cmd, args)
	})
	root.InitDefaultHelpCmd()
	if cmd, _, err := root.Find([]string{"help"}); err == nil {
		cmd.Run, cmd.RunE = nil, helpOn
	}
	return root
}

// helpOn shows the help of the command that args name. Cobra's own shows that
// of the nearest one, with exit code 0, when there is none.
func helpOn(cmd *cobra.Command, args []string) error {
	target, rest, err := cmd.Root().Find(args)
	if err != nil {
		return err
	}
	if len(rest) > 0 {
		return misuse(fmt.Sprintf("unknown command %q for %q", rest[0], target.CommandPath()))
	}
	target.InitDefaultHelpFlag()
	return target.Help()
}

// open opens the database of cfg beside a server that may have it. It does
// not make one: a mistyped name would give an empty list of users, not an error.
func (a *app) open(ctx context.Context, cfg Config) (*store.DB, error) {
	if err := mustExist(cfg.DBFile); err != nil {
		return nil, err
	}
	return store.Open(ctx, store.Options{Path: cfg.DBFile, Logger: a.logger(cfg), Backends: cfg.existing(), UploadDir: cfg.uploadDir()})
}

func mustExist(path string) error {
	_, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return fmt.Errorf("there is no database %s: name another one with --db-file or SERVICE_DB_FILE, or make it with `tracker seed`", path)
}

// withDB calls fn with the database of cfg.
func (a *app) withDB(ctx context.Context, cfg Config, fn func(*store.DB) error) error {
	db, err := a.open(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(fn(db), db.Close())
}

// logger returns the log of a run.
func (a *app) logger(cfg Config) *slog.Logger {
	o := &slog.HandlerOptions{Level: cfg.LogLevel.level()}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(a.stderr, o))
	}
	return slog.New(slog.NewTextHandler(a.stderr, o))
}
