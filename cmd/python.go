package cmd

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	library "tracker/client"
)

// Python programs that use the client embedded in this program, even if another one is installed.
// Their first argument is the path of the client's wheel.
const (
	useClient = "import sys\nsys.path[:] = [sys.argv.pop(1)] + [p for p in sys.path if p]\n"
	// startClient runs the command line of the client.
	startClient = useClient + "from tracker.__main__ import main\nsys.exit(main(prog='tracker'))"
	// findServer prints the address of the local server, which the Python client starts again if it
	// has stopped.
	findServer = useClient + "from tracker._http import service_url\nprint(service_url())"
)

// pythonCommand returns a command that runs the Python client, because the code for spools and
// local runs exists only in Python.
func (a *app) pythonCommand(use, short, example string) *cobra.Command {
	return &cobra.Command{
		Use:                use,
		GroupID:            groupRuns,
		Short:              short,
		Long:               short + ". Needs Python 3.9 or newer, but no packages.",
		Example:            example,
		DisableFlagParsing: true,
		RunE: run(func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
				return cmd.Help()
			}
			command, err := a.client(startClient)
			if err != nil {
				return err
			}
			return a.become(append(append(command, cmd.Name()), args...))
		}),
	}
}

func (a *app) clientCommands() []*cobra.Command {
	return []*cobra.Command{
		a.pythonCommand("run [--project NAME] [--experiment NAME] [--name NAME] [--tag TAG] [--tensorboard FOLDER] -- PROGRAM ARGUMENTS",
			"Run a program and record it as a run, with its output, exit status, parameters and event files",
			"  tracker run --project iris -- python train.py --lr 0.1\n  tracker run --project iris --tag nightly -- ./simulate.sh"),
		a.pythonCommand("sync [--url URL] [PATH...]", "Send the data in the spool",
			"  tracker sync\n  tracker sync --url http://lab.example.com:9000 ~/.tracker/spool"),
		a.pythonCommand("status [--url URL]", "Show the server's address, the signed-in user and the spool",
			"  tracker status"),
		a.pythonCommand("login [--url URL] [--username NAME]", "Sign in and store the token",
			"  tracker login --url http://lab.example.com:9000"),
	}
}

// client returns the command line that runs program in Python with the embedded client. It sets
// TRACKER_PROGRAM in the environment.
func (a *app) client(program string) ([]string, error) {
	python, err := findPython()
	if err != nil {
		return nil, err
	}
	wheel, err := keepWheel()
	if err != nil {
		return nil, err
	}
	a.nameProgram()
	return []string{python, "-c", program, wheel}, nil
}

// answer runs a Python program with the embedded client and returns its output.
func (a *app) answer(program string) (string, error) {
	command, err := a.client(program)
	if err != nil {
		return "", err
	}
	c := exec.Command(command[0], command[1:]...)
	c.Env, c.Stderr = a.env, a.stderr
	said, err := c.Output()
	return strings.TrimSpace(string(said)), err
}

// nameProgram sets TRACKER_PROGRAM, if it is not set, to the path of this program. If no server is
// running, the Python client starts that program as the server.
func (a *app) nameProgram() {
	given := func(pair string) bool { return strings.HasPrefix(pair, "TRACKER_PROGRAM=") }
	if program, err := os.Executable(); err == nil && !slices.ContainsFunc(a.env, given) {
		a.env = append(slices.Clone(a.env), "TRACKER_PROGRAM="+program)
	}
}

// findPython returns the path of a Python interpreter. It prefers an interpreter in the folder of
// this program, because this program can be installed in a virtual environment. Otherwise it
// searches the PATH.
func findPython() (string, error) {
	names := []string{"python3", "python"}
	if program, err := os.Executable(); err == nil {
		for _, name := range names {
			if runtime.GOOS == "windows" {
				name += ".exe"
			}
			path := filepath.Join(filepath.Dir(program), name)
			if found, err := exec.LookPath(path); err == nil {
				return found, nil
			}
		}
	}
	for _, name := range names {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	return "", errors.New("this command needs Python 3.9 or newer, and there is none on the PATH")
}

// keepWheel writes the client's wheel to the user's cache folder, if it is not there yet, and
// returns its path.
func keepWheel() (string, error) {
	wheel, err := library.PythonWheel(nil)
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no folder found for the client: %w", err)
	}
	folder := filepath.Join(cache, "tracker", wheel.Hash[:16])
	path := filepath.Join(folder, wheel.Name)
	if info, err := os.Stat(path); err == nil && info.Size() == int64(len(wheel.Body)) {
		return path, nil
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", fmt.Errorf("the client can't be saved: %w", err)
	}
	part, err := os.CreateTemp(folder, "part-")
	if err != nil {
		return "", fmt.Errorf("the client can't be saved: %w", err)
	}
	_, err = part.Write(wheel.Body)
	err = errors.Join(err, part.Close())
	if err == nil {
		err = os.Rename(part.Name(), path)
	}
	if err != nil {
		os.Remove(part.Name())
		return "", fmt.Errorf("the client can't be saved: %w", err)
	}
	return path, nil
}
