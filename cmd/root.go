// Package cmd implements the command line. It reads the settings, connects the components of
// the service and prints results. Package store contains the rules of the domain.
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

// Main runs a command and returns its exit code. args does not include the program name. env
// holds NAME=value pairs. The exit codes are:
//
//	0  success
//	1  the command failed
//	2  the command line is wrong
//	3  an import, export or copy omitted records
//
// The first interrupt ends the command gracefully. The second interrupt ends the process with
// code 1.
func Main(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := interruptible(ctx, stderr)
	defer stop()
	a := &app{env: env, stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(append([]string{}, args...)) // not nil, because cobra replaces nil with os.Args
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	ran, err := root.ExecuteContextC(ctx)
	return a.exit(ctx, ran, err)
}

// interruptible returns a copy of ctx that ends with the first interrupt, SIGTERM or SIGHUP. The returned function
// releases its resources. A second interrupt ends the process with code 1.
func interruptible(ctx context.Context, stderr io.Writer) (context.Context, func()) {
	ctx, cancel := context.WithCancel(ctx)
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // nohup ignores it
		signal.Notify(signals, syscall.SIGHUP)
	}
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
			fmt.Fprintln(stderr, "tracker: ended immediately by a second signal")
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

// app holds the state of one command execution.
type app struct {
	env            []string
	stdin          io.Reader
	stdout, stderr io.Writer
	envFile        string // value of --env-file; "" means .env, if that file exists
}

// failure is the error of a command whose command line was correct.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// misuse is an error in the arguments or flags of a command line.
type misuse string

func (m misuse) Error() string { return string(m) }

// run returns a function that calls fn and wraps its error in failure, but not a misuse error.
// Errors that cobra finds before it calls the function are not wrapped either.
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

// exit prints err and returns the exit code for err.
func (a *app) exit(ctx context.Context, ran *cobra.Command, err error) int {
	var failed failure
	var wrong mistakes
	var lost incomplete
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &failed):
		fmt.Fprintf(a.stderr, "tracker: %s\nSee '%s --help'.\n", strings.TrimSpace(err.Error()), ran.CommandPath())
		return 2
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(a.stderr, "tracker: interrupted")
	case errors.As(err, &lost):
		fmt.Fprintln(a.stderr, "tracker:", err)
		return 3
	case errors.As(err, &wrong):
		for _, m := range wrong {
			fmt.Fprintln(a.stderr, "tracker:", m.text)
		}
	default:
		fmt.Fprintln(a.stderr, "tracker:", withRemedy(err))
	}
	return 1
}

func (a *app) warn(format string, args ...any) {
	fmt.Fprintf(a.stderr, "tracker: warning: "+format+"\n", args...)
}

// Groups of commands in the help text.
const (
	groupServer   = "server"
	groupRuns     = "runs"
	groupAccounts = "accounts"
	groupDatabase = "database"
)

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "tracker",
		Short: "Record machine-learning experiments",
		Long: `Tracker records machine-learning experiments: parameters, metrics, and the code and
environment that produced them. It is one program with one database file.
` + "`tracker serve`" + ` starts the API that training runs log to, and the dashboard.

Every setting can be given as a flag, in the environment, or in a file of
environment variables (.env in the working directory, or --env-file). A flag takes
precedence over the environment, and the environment over the file.
` + "`tracker config`" + ` shows the result.`,
		Example: `  tracker serve                  # start in this folder, then open the dashboard
  tracker seed --demo            # fill the database with demo projects
  tracker user add ada --admin   # create an account
  tracker backup monday.db       # copy the database, even while the server runs`,
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	// Cobra's own --version flag uses package text/template, which calls methods by name and so
	// keeps the linker from removing unused methods.
	version := root.Flags().BoolP("version", "v", false, "version for tracker")
	root.PersistentFlags().StringVar(&a.envFile, "env-file", "",
		"`file` of NAME=value lines to read settings from (default .env, if it exists)")
	root.AddGroup(
		&cobra.Group{ID: groupServer, Title: "Server:"},
		&cobra.Group{ID: groupRuns, Title: "Runs, through the API of a server:"},
		&cobra.Group{ID: groupAccounts, Title: "Accounts:"},
		&cobra.Group{ID: groupDatabase, Title: "Database:"})
	root.AddCommand(
		a.serveCommand(), a.configCommand(), a.healthCommand(), a.doctorCommand(), a.benchCommand(), a.clientCommand(), a.versionCommand(),
		a.runsCommand(), a.showCommand(), a.logCommand(), a.compareCommand(), a.stopCommand(), a.mcpCommand(),
		a.userCommand(), a.resetPasswordCommand(), a.tokenCommand(), a.shareCommand(),
		a.seedCommand(), a.importCommand(), a.exportCommand(), a.pushCommand(), a.pullCommand(), a.followCommand(), a.backupCommand(), a.restoreCommand(), a.checkCommand(), a.artifactsCommand(), a.trashCommand(), a.auditCommand())
	root.AddCommand(a.clientCommands()...)
	help := root.HelpFunc()
	root.SetHelpFunc(func(cmd *cobra.Command, args []string) {
		if cmd == root && *version {
			fmt.Fprintln(a.stdout, "tracker", Version())
			return
		}
		a.showEffective(cmd)
		help(cmd, args)
	})
	root.InitDefaultHelpCmd()
	if cmd, _, err := root.Find([]string{"help"}); err == nil {
		cmd.Run, cmd.RunE = nil, helpOn
	}
	return root
}

// helpOn prints the help of the command that args names. For an unknown command it returns an
// error, whereas Cobra's own help command would print the help of the closest parent command.
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

// open opens the database of cfg, which a running server can have open at the same time. It never
// creates a database, so a mistyped name is an error.
func (a *app) open(ctx context.Context, cfg Config) (*store.DB, error) {
	if err := mustExist(cfg.DBFile); err != nil {
		return nil, err
	}
	return store.Open(ctx, store.Options{Path: cfg.DBFile, MustExist: true, Logger: a.logger(cfg), Backends: cfg.existing(), UploadDir: cfg.uploadDir(),
		TrashAge: cfg.TrashDays.duration()})
}

func mustExist(path string) error {
	_, err := os.Stat(path)
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if abs, err := filepath.Abs(path); err == nil {
		path = abs
	}
	return fmt.Errorf("there is no database %s: name another one with --db-file or SERVICE_DB_FILE, or create it with `tracker seed`", path)
}

// withDB calls fn with the database in the settings of cmd, and closes the database afterwards.
func (a *app) withDB(cmd *cobra.Command, fn func(*store.DB) error) error {
	cfg, err := a.load(cmd)
	if err != nil {
		return err
	}
	return a.withDBOf(cmd.Context(), cfg, fn)
}

// withDBOf calls fn with the database of cfg, and closes the database afterwards.
func (a *app) withDBOf(ctx context.Context, cfg Config, fn func(*store.DB) error) error {
	db, err := a.open(ctx, cfg)
	if err != nil {
		return err
	}
	return errors.Join(fn(db), db.Close())
}

// logger returns a logger that writes to stderr in the format of cfg.
func (a *app) logger(cfg Config) *slog.Logger {
	o := &slog.HandlerOptions{Level: cfg.LogLevel.level()}
	if cfg.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(a.stderr, o))
	}
	return slog.New(slog.NewTextHandler(a.stderr, o))
}
