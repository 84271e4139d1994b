package diagnosis_test

import (
	"strings"
	"testing"

	"tracker/store/diagnosis"
)

const traceback = `Traceback (most recent call last):
  File "/home/ada/work/train.py", line 88, in <module>
    main()
  File "/home/ada/work/train.py", line 41, in step
    loss = model(batch).mean()
           ^^^^^^^^^^^^
  File "/venv/lib/python3.12/site-packages/torch/nn/modules/module.py", line 1736, in _wrapped_call_impl
    return self._call_impl(*args, **kwargs)
ValueError: the batch 17 at 0x7f3a81 has 31 rows
`

func TestRecognise(t *testing.T) {
	frame := diagnosis.Crash{File: "/home/ada/work/train.py", Line: 41, Function: "step", Code: "loss = model(batch).mean()", Traceback: true}
	in := func(c diagnosis.Crash) diagnosis.Crash {
		c.File, c.Line, c.Function, c.Code, c.Traceback = frame.File, frame.Line, frame.Function, frame.Code, true
		return c
	}
	replaced := func(with string) string {
		return strings.Replace(traceback, "ValueError: the batch 17 at 0x7f3a81 has 31 rows", with, 1)
	}
	exception := func(name, message string) diagnosis.Crash {
		return diagnosis.Crash{Kind: diagnosis.Exception, Exception: name, Message: message}
	}
	signal := func(name, message string) diagnosis.Crash {
		return diagnosis.Crash{Kind: diagnosis.Signal, Signal: name, Message: message}
	}
	for _, c := range []struct {
		name, text string
		want       diagnosis.Crash
	}{
		{"nothing", "epoch 1\nepoch 2\nFinished.", diagnosis.Crash{}},
		{"empty", "", diagnosis.Crash{}},
		{"a traceback", "epoch 1\n" + traceback, in(exception("ValueError", "the batch 17 at 0x7f3a81 has 31 rows"))},
		{"without its beginning", traceback[strings.Index(traceback, "in <module>")+20:], in(exception("ValueError", "the batch 17 at 0x7f3a81 has 31 rows"))},
		{"with the rank before each line", "[rank1]: " + strings.ReplaceAll(strings.TrimSpace(traceback), "\n", "\n[rank1]: "),
			in(exception("ValueError", "the batch 17 at 0x7f3a81 has 31 rows"))},
		{"the last of two", replaced("KeyError: 'x'") + "\nDuring handling of the above exception, another exception occurred:\n\n" + traceback,
			in(exception("ValueError", "the batch 17 at 0x7f3a81 has 31 rows"))},
		{"without a message", replaced("AssertionError"), in(exception("AssertionError", ""))},
		{"with a module", replaced("jax.errors.UnexpectedTracerError: leaked"), in(exception("UnexpectedTracerError", "leaked"))},
		{"with a second line", replaced("RuntimeError: Error(s) in loading state_dict for Net:\n\tsize mismatch for fc.weight"),
			in(exception("RuntimeError", "Error(s) in loading state_dict for Net: size mismatch for fc.weight"))},
		{"memory of a GPU", replaced("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB"),
			in(diagnosis.Crash{Kind: diagnosis.GPUMemory, Exception: "OutOfMemoryError",
				Message: "CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB"})},
		{"memory", replaced("numpy._core._exceptions._ArrayMemoryError: Unable to allocate 5.82 GiB"), in(diagnosis.Crash{Kind: diagnosis.Memory, Exception: "_ArrayMemoryError", Message: "Unable to allocate 5.82 GiB"})},
		{"memory without a traceback", "MemoryError: unable to allocate 5.82 GiB",
			diagnosis.Crash{Kind: diagnosis.Memory, Exception: "MemoryError", Message: "unable to allocate 5.82 GiB"}},
		{"memory, said by the scheduler", "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0.\nsrun: error: node: task 0: Out Of Memory\nKilled",
			diagnosis.Crash{Kind: diagnosis.Memory, Message: "slurmstepd: error: Detected 1 oom_kill event in StepId=12.0."}},
		{"a message alone", "FloatingPointError: the loss is nan since step 704", exception("FloatingPointError", "the loss is nan since step 704")},
		{"a handled lack of memory long before the end", "CUDA out of memory; retrying\n" + strings.Repeat("epoch\n", 80) + traceback,
			in(exception("ValueError", "the batch 17 at 0x7f3a81 has 31 rows"))},
		{"a launcher after its process", traceback + replaced("torch.distributed.elastic.multiprocessing.errors.ChildFailedError:"),
			in(exception("ValueError", "the batch 17 at 0x7f3a81 has 31 rows"))},
		{"a handled exception long before the end", "TimeoutError: retrying\n" + strings.Repeat("epoch\n", 20), diagnosis.Crash{}},
		{"a shell", "epoch 1\ntrain.sh: line 3:  4711 Killed                  python train.py", signal("SIGKILL", "train.sh: line 3:  4711 Killed                  python train.py")},
		{"an exit code", "exit code 137", signal("SIGKILL", "exit code 137")},
		{"an exit code of a launcher", "  exitcode  : -9 (pid: 41)", signal("SIGKILL", "exitcode  : -9 (pid: 41)")},
		{"an exit code without a signal", "exit code 1", diagnosis.Crash{}},
		{"the Python client", "Ended by SIGTERM.", signal("SIGTERM", "Ended by SIGTERM.")},
		{"a segmentation fault", "\x1b[31mSegmentation fault (core dumped)\x1b[0m", signal("SIGSEGV", "Segmentation fault (core dumped)")},
		{"a time limit", "slurmstepd: error: *** JOB 8 ON n1 CANCELLED AT 2026-11-21T09:30:00 DUE TO TIME LIMIT ***",
			diagnosis.Crash{Kind: diagnosis.TimeLimit, Message: "slurmstepd: error: *** JOB 8 ON n1 CANCELLED AT 2026-11-21T09:30:00 DUE TO TIME LIMIT ***"}},
		{"an exception group", "  + Exception Group Traceback (most recent call last):\n  |   File \"a.py\", line 3, in <module>\n  |     f()\n" +
			"  | ExceptionGroup: two (2 sub-exceptions)\n  +-+---------------- 1 ----------------\n    | Traceback (most recent call last):\n" +
			"    |   File \"b.py\", line 9, in f\n    |     g()\n    | OSError: [Errno 28] No space left on device",
			diagnosis.Crash{Kind: diagnosis.Exception, Exception: "OSError", Message: "[Errno 28] No space left on device",
				File: "b.py", Line: 9, Function: "f", Code: "g()", Traceback: true}},
		{"a syntax error", "  File \"train.py\", line 3\n    foo(\n       ^\nSyntaxError: '(' was never closed",
			diagnosis.Crash{Kind: diagnosis.Exception, Exception: "SyntaxError", Message: "'(' was never closed", File: "train.py", Line: 3, Code: "foo(", Traceback: true}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := diagnosis.Recognise(strings.Split(c.text, "\n")); diagnosis.At0(got) != c.want {
				t.Errorf("got  %+v\nwant %+v", got, c.want)
			}
		})
	}
}

func TestSignature(t *testing.T) {
	one := diagnosis.Recognise(strings.Split(traceback, "\n")).Signature()
	alike := strings.NewReplacer("batch 17", "batch 4,096", "0x7f3a81", "0x55d0", "/home/ada/", "/mnt/share/bob/", "line 41", "line 43").Replace(traceback)
	if two := diagnosis.Recognise(strings.Split(alike, "\n")).Signature(); two != one {
		t.Errorf("%q and %q", one, two)
	}
	for _, other := range []string{strings.Replace(traceback, "ValueError", "KeyError", 1), strings.Replace(traceback, "in step", "in load", 1),
		strings.Replace(traceback, "has 31 rows", "is empty", 1)} {
		if two := diagnosis.Recognise(strings.Split(other, "\n")).Signature(); two == one {
			t.Errorf("%q for %s", two, other)
		}
	}
	for message, want := range map[string]string{
		"[Errno 2] No such file or directory: '/data/x.bin'": "exception FileNotFoundError: [Errno _] No such file or directory: _",
		"the loss is nan since step 704":                     "exception FileNotFoundError: the loss is nan since step _",
		"node /scratch/ab/cd failed with 1e-5 at 3f2a9c0b77": "exception FileNotFoundError: node _ failed with _ at _",
	} {
		if got := diagnosis.Recognise([]string{"FileNotFoundError: " + message}).Signature(); got != want {
			t.Errorf("%s: got %q, want %q", message, got, want)
		}
	}
}

func FuzzRecognise(f *testing.F) {
	f.Add(traceback)
	f.Add("Killed\nexit code 137")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.Split(text, "\n")
		c := diagnosis.Recognise(lines)
		if c.Kind == diagnosis.None && c.Signature() != "" || len(c.Message) > 4*400 {
			t.Errorf("%+v", c)
		}
	})
}
