package demo

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"tracker/store/domain"
	"tracker/store/registry"
	"tracker/store/runs"
)

// plan returns the projects of the demo. Every call returns the same projects.
func plan() []project {
	source := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(1936, n)) }
	return []project{vision(source(1), source), language(source(2)), tabular(source(3))}
}

const day = 24 * time.Hour

type project struct {
	name, description string
	tags              []string
	experiments       []experiment
	models            []model
	reports           []report
}

type experiment struct {
	name, description string
	tags              []string
	status            domain.ExperimentStatus
	runs              []run
}

// run describes a run with its child runs.
type run struct {
	name, notes string
	tags        []string
	params      []param
	command     string        // "" if the run has no snapshot
	changes     string        // diff of the uncommitted changes; "" for the diff of most runs
	packages    string        // installed packages; "" for the packages of most runs
	started     time.Duration // time since the start of the run; 0 for a running run that logs its last point now
	pace        time.Duration // time between two steps
	steps       int
	curves      []curve
	pictures    bool // whether the run logs images, histograms and other media
	status      domain.IterationStatus
	message     string // reason why the run failed
	children    []run
}

type param struct{ key, value string }

type model struct {
	name, description string
	versions          []version
}

// version is a model version that a run has produced. Versions are listed in chronological order.
// When a version enters production, the previous production version is archived.
type version struct {
	run, description string
	stage            registry.Stage
}

func vision(r *rand.Rand, source func(uint64) *rand.Rand) project {
	sweep := run{
		name: "lr x weight decay", notes: "A grid of nine. The middle wins, as last year.",
		tags: []string{"sweep", "grid"}, started: 20 * day, pace: 40 * time.Minute, status: domain.Succeeded,
		params: []param{{"method", "grid"}, {"goal", "val/accuracy"}},
		curves: []curve{{"best/val_accuracy", 1, share(noisy(falling(0.71, 0.9, 2), 0.004, r))}}, steps: 9,
	}
	for i := range 9 {
		lr, decay := []float64{0.01, 0.1, 1}[i/3], []float64{1e-5, 1e-4, 1e-3}[i%3]
		child := classifier(r, lr, decay, "none", 400)
		child.started = sweep.started - time.Duration(i)*40*time.Minute
		child.name = fmt.Sprintf("lr=%s wd=%s", number(lr), number(decay))
		sweep.children = append(sweep.children, child)
	}
	sweep.children[4].tags = []string{"best"}

	ablation := []run{
		classifier(r, 0.1, 1e-4, "none", 400), classifier(r, 0.1, 1e-4, "flip", 400),
		classifier(r, 0.1, 1e-4, "flip+crop", 400), classifier(r, 0.1, 1e-4, "mixup", 140),
		classifier(r, 0.1, 1e-4, "randaugment", 260),
	}
	for i := range ablation {
		ablation[i].name = "augment " + ablation[i].params[3].value
		ablation[i].pictures = true
		ablation[i].started = 3*day - time.Duration(i)*2*time.Hour
	}
	ablation[3].status, ablation[3].message = domain.Killed, "Stopped by the user: the labels were not mixed."
	ablation[4].status, ablation[4].started = domain.Running, 0
	return project{
		name: "Traffic signs", description: "Recognise 43 kinds of traffic signs from 32 x 32 photographs.",
		tags: []string{"vision"},
		experiments: []experiment{
			{name: "Learning rate sweep", description: "Which learning rate and weight decay for the small ResNet?",
				tags: []string{"resnet", "baseline"}, status: domain.Finished, runs: []run{sweep}},
			{name: "Augmentation", description: "What is each kind of augmentation worth on its own?",
				tags: []string{"resnet"}, status: domain.InProgress, runs: ablation},
			{name: "Cosine schedule", description: "Is the cosine schedule better, or are the seeds lucky?",
				tags: []string{"resnet", "seeds"}, status: domain.Finished, runs: schedules(source(4))},
			{name: "Optimizer search", description: "Sixty random draws: which optimizer, and how fast?",
				tags: []string{"sweep"}, status: domain.Finished, runs: draws(r, 60)},
		},
		models: []model{{
			name: "sign-classifier", description: "The model that the cars use. Must answer within 20 ms.",
			versions: []version{
				{"lr=0.01 wd=0.0001", "First version that was good enough to drive with.", registry.Production},
				{"lr=0.1 wd=0.0001", "Best of the sweep.", registry.Production},
				{"augment none", "Only for comparison: it overfits.", registry.NoStage},
				{"augment flip", "Confuses left and right less often than the previous version.", registry.Production},
				{"augment flip+crop", "On two test cars until Friday.", registry.Staging},
			},
		}},
	}
}

// schedules returns two groups of five runs with different seeds: one group with a constant
// learning rate, and one with a schedule, a higher learning rate and newer packages. Two more runs
// have another learning rate.
func schedules(r *rand.Rand) (all []run) {
	for i := range 12 {
		lr, name := 0.03, "constant"
		if i >= 5 {
			lr, name = 0.1, "cosine"
		}
		seed := i%5 + 1
		if i >= 10 {
			lr, name = 0.3, "cosine, lr 0.3"
		}
		miss := map[float64]float64{0.03: 0.12, 0.1: 0, 0.3: 0.09}[lr] + 0.03*(r.Float64()-0.5)
		one := run{
			name: fmt.Sprintf("%s, seed %d", name, seed), status: domain.Succeeded, pace: 5 * time.Second, steps: 200,
			started: 30*time.Hour - time.Duration(i)*40*time.Minute, command: "python train.py --lr " + number(lr),
			params: []param{{"model", "resnet18-small"}, {"lr", number(lr)}, {"weight_decay", "0.0001"}, {"batch_size", "128"},
				{"optimizer", "sgd"}, {"momentum", "0.9"}, {"seed", strconv.Itoa(seed)}},
			curves: []curve{
				{"train/loss", 1, noisy(falling(3.76, 0.2+miss, 16), 0.05, r)},
				{"lr", 1, warmUp(lr, 20, 200)},
				{"val/loss", 10, noisy(falling(3.76, 0.34+miss, 18), 0.004, r)},
				{"val/accuracy", 10, share(noisy(falling(0.05, 0.94-miss/3, 20), 0.002, r))},
			},
			changes: constantRate, packages: "numpy==2.2.1\npillow==11.1.0\ntorch==2.6.0\ntorchvision==0.21.0\n",
		}
		if i >= 5 {
			one.changes, one.packages = cosineRate, "numpy==2.2.1\npillow==11.1.0\ntorch==2.7.1\ntorchvision==0.22.1\n"
		}
		all = append(all, one)
	}
	all[5].tags = []string{"best"}
	return all
}

// draws returns the n runs of a random search. The search varies the optimizer, the learning rate
// and parameters with little or no influence. The best learning rate of sgd is about 100 times as
// large as the best one of adamw. Runs with a much higher learning rate diverge.
func draws(r *rand.Rand, n int) (all []run) {
	for i := range n {
		exponent := -5 + 5*r.Float64()
		lr := math.Pow(10, exponent)
		rate := number(math.Round(lr*1e7) / 1e7)
		optimizer := []string{"adamw", "sgd"}[r.IntN(2)]
		batch := strconv.Itoa(32 << r.IntN(4))
		if i%20 == 7 {
			batch = "auto"
		}
		best := map[string]float64{"adamw": -3.4, "sgd": -1.4}[optimizer]
		dropout, seed := float64(r.IntN(5))/10, r.IntN(1000)
		miss := min(1.8, 0.35*math.Pow(exponent-best, 2))
		explodes := never
		if exponent > best+1.25 {
			explodes = 2 + 10*r.Float64()
		}
		one := run{
			name: fmt.Sprintf("optimizer-search-%02d", i+1), status: domain.Succeeded, pace: 5 * time.Second, steps: 100,
			started: 2*day - time.Duration(i)*9*time.Minute,
			command: fmt.Sprintf("python train.py --optimizer %s --lr %s --batch-size %s --dropout %s --seed %d", optimizer, rate, batch, number(dropout), seed),
			params: []param{{"optimizer", optimizer}, {"lr", rate}, {"batch_size", batch},
				{"dropout", number(dropout)}, {"seed", strconv.Itoa(seed)}},
			curves: []curve{
				{"train/loss", 1, diverge(noisy(falling(3.76, 0.1+miss, 12), 0.05, r), explodes)},
				{"lr", 1, warmUp(lr, 10, 100)},
				{"val/loss", 5, diverge(noisy(falling(3.76, 0.3+miss, 14), 0.02, r), explodes)},
				{"val/accuracy", 5, share(noisy(falling(0.02, max(0.1, 0.95-miss/3), 14), 0.01, r))},
			},
		}
		if explodes != never {
			one.status, one.message = domain.Failed, "FloatingPointError: the loss is nan"
		}
		all = append(all, one)
	}
	return all
}

// classifier returns a run that trains a small image classifier with 20 steps per epoch.
func classifier(r *rand.Rand, lr, decay float64, augment string, steps int) run {
	miss := 0.25*off(lr, 0.1) + 0.06*off(decay, 1e-4)
	loss := falling(3.76, 0.12+miss, 18+20*off(lr, 0.1))
	accuracy := falling(0.02, 0.965-miss/3, 22+20*off(lr, 0.1))
	held := falling(3.76, 0.31+miss, 20)
	if augment == "none" {
		held = overfit(held, 180, 0.4)
	}
	return run{
		status: domain.Succeeded, pace: 6 * time.Second, steps: steps, command: "python train.py --augment " + augment,
		params: []param{{"model", "resnet18-small"}, {"lr", number(lr)}, {"weight_decay", number(decay)},
			{"augment", augment}, {"batch_size", "128"}, {"optimizer", "sgd"}, {"momentum", "0.9"}, {"seed", "17"}},
		curves: []curve{
			{"train/loss", 1, noisy(loss, 0.07, r)},
			{"train/accuracy", 1, share(noisy(accuracy, 0.025, r))},
			{"train/grad_norm", 1, noisy(falling(6, 0.8, 60), 0.3, r)},
			{"lr", 1, warmUp(lr, 20, 400)},
			{"val/loss", 20, noisy(held, 0.02, r)},
			{"val/accuracy", 20, share(noisy(falling(0.05, 0.94-miss/3, 30), 0.008, r))},
		},
	}
}

func language(r *rand.Rand) project {
	pretraining := []run{
		languageModel(r, 1e-4, 2500, never), languageModel(r, 3e-4, 2500, never), languageModel(r, 6e-4, 2500, never),
		languageModel(r, 1e-3, 2500, never), languageModel(r, 1e-2, 900, 620), languageModel(r, 8e-4, 2100, never),
		languageModel(r, 5e-4, 1700, never),
	}
	for i := range pretraining {
		pretraining[i].started = 9*day - time.Duration(i)*18*time.Hour
	}
	pretraining[3].tags = []string{"best", "release-candidate"}
	pretraining[3].notes = "Longer warm-up than the others. Use this one for fine-tuning."
	exploded := &pretraining[4]
	exploded.status, exploded.message = domain.Failed, "FloatingPointError: the loss is nan since step 704"
	exploded.tags = []string{"diverged"}
	lost := &pretraining[5]
	lost.curves = append(lost.curves, curve{"system/memory_percent", 1, filling(2100)})
	lost.status, lost.notes = domain.Running, "The machine went down overnight and has not reported since."
	live := &pretraining[6]
	live.status, live.started = domain.Running, 0

	search := run{
		name: "adapter search", notes: "Two ranks, four learning rates each.", tags: []string{"sweep"},
		started: 4 * day, status: domain.Succeeded, params: []param{{"base", "lm-20m lr=0.001"}},
	}
	for i, rank := range []int{8, 32} {
		group := run{
			name: fmt.Sprintf("rank %d", rank), started: search.started - time.Duration(i)*9*time.Hour,
			tags: []string{"sweep"}, status: domain.Succeeded, params: []param{{"rank", strconv.Itoa(rank)}},
		}
		for j, lr := range []float64{1e-5, 1e-4, 1e-3, 3e-3} {
			child := fineTuning(r, rank, lr)
			child.started = group.started - time.Duration(j)*2*time.Hour
			group.children = append(group.children, child)
		}
		search.children = append(search.children, group)
	}
	return project{
		name: "Small language model", description: "20 million parameters, trained on public-domain books.",
		tags: []string{"language"}, reports: []report{{"Which learning rate", learningRates}},
		experiments: []experiment{
			{name: "Pre-training", description: "One pass over 1.2 billion tokens for each learning rate.",
				tags: []string{"lm-20m"}, status: domain.InProgress, runs: pretraining},
			{name: "Fine-tuning on reviews", description: "Adapters that tell good reviews from bad ones.",
				tags: []string{"adapter"}, status: domain.Stopped, runs: []run{search}},
		},
	}
}

// languageModel returns a run that pre-trains a language model. Its loss diverges at the step
// explodes.
func languageModel(r *rand.Rand, lr float64, steps int, explodes float64) run {
	best := 3.05 + 0.5*off(lr, 1e-3)
	held := again(diverge(noisy(falling(10.8, best+0.12, 60), 0.004, r), explodes))
	return run{
		name: "lr=" + number(lr), status: domain.Succeeded, pace: 9 * time.Second, steps: steps,
		command: "torchrun --nproc-per-node 2 pretrain.py --lr " + number(lr),
		params: []param{{"lr", number(lr)}, {"warmup_steps", "125"}, {"layers", "8"}, {"width", "384"},
			{"context", "512"}, {"tokens_per_step", "480000"}, {"optimizer", "adamw"}, {"betas", "[0.9, 0.95]"}},
		curves: []curve{
			{"train/loss", 1, diverge(noisy(falling(10.8, best, 55), 0.02, r), explodes)},
			{"train/grad_norm", 1, diverge(noisy(falling(9, 0.4, 40), 0.25, r), explodes)},
			{"lr", 1, warmUp(lr, 125, 2500)},
			{"tokens_per_second", 1, noisy(level(53_000), 0.03, r)},
			{"val/loss", 100, held},
			{"val/perplexity", 100, exp(held)},
		},
	}
}

func fineTuning(r *rand.Rand, rank int, lr float64) run {
	miss := 0.09*off(lr, 1e-3) + 0.3/float64(rank)
	return run{
		name: fmt.Sprintf("rank=%d lr=%s", rank, number(lr)), status: domain.Succeeded, pace: 11 * time.Second, steps: 300,
		command: fmt.Sprintf("python finetune.py --rank %d --lr %s", rank, number(lr)),
		params: []param{{"rank", strconv.Itoa(rank)}, {"lr", number(lr)}, {"dropout", "0.05"}, {"epochs", "3"},
			{"target", "q_proj,v_proj"}},
		curves: []curve{
			{"train/loss", 1, noisy(falling(0.69, 0.16+miss, 40), 0.08, r)},
			{"lr", 1, warmUp(lr, 30, 300)},
			{"samples_per_second", 1, noisy(level(810), 0.04, r)},
			{"val/loss", 25, noisy(overfit(falling(0.69, 0.24+miss, 40), 200, 0.09*float64(rank)/32), 0.015, r)},
			{"val/f1", 25, share(noisy(falling(0.5, 0.93-miss/2, 45), 0.008, r))},
		},
	}
}

func tabular(r *rand.Rand) project {
	search := run{
		name: "random search", notes: "Twenty draws. Deep trees fit the noise after a hundred rounds.",
		tags: []string{"sweep", "random"}, started: 12 * day, status: domain.Succeeded,
		params: []param{{"method", "random"}, {"draws", "20"}, {"goal", "valid/rmse"}},
	}
	for i := range 20 {
		child := boosting(r, 3+r.IntN(8), math.Round(math.Pow(10, -2+1.6*r.Float64())*1e4)/1e4)
		if i == 13 {
			child = boosting(r, 4, 0.0001)
			child.notes, child.tags = "Too careful: after 300 rounds it has not left the plateau.", []string{"plateau"}
		}
		child.name = fmt.Sprintf("draw %02d", i+1)
		child.started = search.started - time.Duration(i)*12*time.Minute
		search.children = append(search.children, child)
	}
	search.children[17].status, search.children[17].message = domain.Failed, "MemoryError: unable to allocate 5.82 GiB"
	search.children[17].steps = 41
	search.children[17].curves = append(search.children[17].curves, curve{"system/memory_percent", 1, filling(40)})

	var networks []run
	for i, width := range []int{32, 128, 512} {
		child := perceptron(r, width)
		child.started = 6*day - time.Duration(i)*time.Hour
		networks = append(networks, child)
	}
	return project{
		name: "House prices", description: "What does a house cost? 79 columns, 2,930 sales.",
		tags: []string{"tabular"},
		experiments: []experiment{
			{name: "Gradient boosting", description: "Depth and learning rate by random search.",
				tags: []string{"trees"}, status: domain.Finished, runs: []run{search}},
			{name: "Neural baseline", description: "Is a plain network as good? No.",
				tags: []string{"mlp", "baseline"}, status: domain.Stopped, runs: networks},
		},
	}
}

// boosting returns a run that trains gradient-boosted trees. Each step is a boosting round.
func boosting(r *rand.Rand, depth int, lr float64) run {
	half := 2.5 / lr
	deep := float64(depth)
	return run{
		status: domain.Succeeded, pace: 2 * time.Second, steps: 300, command: "python boost.py",
		params: []param{{"depth", strconv.Itoa(depth)}, {"lr", number(lr)}, {"subsample", number(math.Round(50+50*r.Float64()) / 100)},
			{"rounds", "300"}, {"l2", "1.0"}},
		curves: []curve{
			{"train/rmse", 1, noisy(falling(79_000, 21_000-1_500*deep, half), 0.004, r)},
			{"valid/rmse", 1, noisy(overfit(falling(79_500, 23_500+100*off(deep, 5), half), 100, 400*max(0, deep-5)*min(1, lr*10)), 0.006, r)},
		},
	}
}

func perceptron(r *rand.Rand, width int) run {
	wide := float64(width)
	return run{
		name: fmt.Sprintf("width %d", width), status: domain.Succeeded, pace: 3 * time.Second, steps: 500,
		command: fmt.Sprintf("python mlp.py --width %d", width),
		params:  []param{{"width", strconv.Itoa(width)}, {"layers", "3"}, {"dropout", "0.1"}, {"scaler", "quantile"}},
		curves: []curve{
			{"train/rmse", 1, noisy(falling(180_000, 30_000-20*wide, 7), 0.03, r)},
			{"valid/rmse", 1, noisy(overfit(falling(180_000, 33_000, 8), 90, 9*wide), 0.02, r)},
			{"train/r2", 1, share(noisy(falling(0, 0.92, 9), 0.01, r))},
			{"valid/r2", 1, share(noisy(falling(0, 0.86, 9), 0.015, r))},
		},
	}
}

// number formats a hyperparameter with as few digits as possible.
func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// changes is the diff of uncommitted changes in most snapshots.
const changes = `diff --git a/train.py b/train.py
--- a/train.py
+++ b/train.py
@@ -41,7 +41,7 @@ def schedule(step, peak, warm_up):
     if step < warm_up:
         return peak * step / warm_up
-    return peak
+    return peak * 0.5 * (1 + math.cos(math.pi * (step - warm_up) / (STEPS - warm_up)))
`

// constantRate and cosineRate are the diffs of the uncommitted changes of two groups of runs.
const (
	constantRate = `diff --git a/train.py b/train.py
--- a/train.py
+++ b/train.py
@@ -38,7 +38,7 @@
 STEPS = 200
 
 def schedule(step, peak, warm_up):
     if step < warm_up:
-        return peak
+        return peak * step / warm_up
     return peak
 
 def batches(folder, size, seed):
`
	cosineRate = `diff --git a/data.py b/data.py
--- a/data.py
+++ b/data.py
@@ -12,5 +12,6 @@ def load(path):
     image = Image.open(path).convert("RGB")
     image = image.resize((32, 32))
+    image = equalize(image)
     return to_tensor(image)
 
 def labels(folder):
diff --git a/train.py b/train.py
--- a/train.py
+++ b/train.py
@@ -1,4 +1,5 @@
 import argparse
+import math
 
 import torch
 from data import load, labels
@@ -38,7 +39,8 @@
 STEPS = 200
 
 def schedule(step, peak, warm_up):
     if step < warm_up:
-        return peak
-    return peak
+        return peak * step / warm_up
+    done = (step - warm_up) / (STEPS - warm_up)
+    return peak * 0.5 * (1 + math.cos(math.pi * done))
 
 def batches(folder, size, seed):
`
)

// snapshot returns the snapshot of a run.
func snapshot(r run) runs.NewSnapshot {
	dirty := true
	return runs.NewSnapshot{
		GitSHA:       "5f3c1e0b7d9a42c68e1f0a3b5d7c9e2f4a6b8c0d",
		GitDirty:     &dirty,
		GitDiff:      cmp.Or(r.changes, changes),
		GitRemote:    "git@example.com:lab/demo.git",
		Entrypoint:   "train.py",
		Command:      r.command,
		Hostname:     "gpu-01",
		Runtime:      "Python 3.13.1",
		Dependencies: cmp.Or(r.packages, "numpy==2.2.1\ntorch==2.6.0\n"),
	}
}
