package cmd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"time"

	"tracker/store"
)

// demoPlan is what the demo consists of. It is the same at each call.
func demoPlan() []demoProject {
	source := func(n uint64) *rand.Rand { return rand.New(rand.NewPCG(1936, n)) }
	return []demoProject{vision(source(1)), language(source(2)), tabular(source(3))}
}

const day = 24 * time.Hour

func vision(r *rand.Rand) demoProject {
	sweep := demoRun{
		name: "lr x weight decay", notes: "Grid of nine. The middle of it wins, as last year.",
		tags: []string{"sweep", "grid"}, started: 20 * day, pace: 40 * time.Minute, status: store.Succeeded,
		params: []demoParam{{"method", "grid"}, {"goal", "val/accuracy"}},
		curves: []curve{{"best/val_accuracy", 1, share(noisy(falling(0.71, 0.9, 2), 0.004, r))}}, steps: 9,
	}
	for i := range 9 {
		lr, decay := []float64{0.01, 0.1, 1}[i/3], []float64{1e-5, 1e-4, 1e-3}[i%3]
		run := classifier(r, lr, decay, "none", 400)
		run.started = sweep.started - time.Duration(i)*40*time.Minute
		run.name = fmt.Sprintf("lr=%s wd=%s", number(lr), number(decay))
		sweep.children = append(sweep.children, run)
	}
	sweep.children[4].tags = []string{"best"}

	ablation := []demoRun{
		classifier(r, 0.1, 1e-4, "none", 400), classifier(r, 0.1, 1e-4, "flip", 400),
		classifier(r, 0.1, 1e-4, "flip+crop", 400), classifier(r, 0.1, 1e-4, "mixup", 140),
		classifier(r, 0.1, 1e-4, "randaugment", 260),
	}
	for i := range ablation {
		ablation[i].name = "augment " + ablation[i].params[3].value
		ablation[i].started = 3*day - time.Duration(i)*2*time.Hour
	}
	ablation[3].status, ablation[3].message = store.Killed, "Stopped by hand: the labels were not mixed."
	ablation[4].status, ablation[4].started = store.Running, 0
	return demoProject{
		name: "Traffic signs", description: "Recognise 43 kinds of traffic signs from 32 x 32 photographs.",
		tags: []string{"vision"},
		experiments: []demoExperiment{
			{name: "Learning rate sweep", description: "Which learning rate and weight decay for the small ResNet?",
				tags: []string{"resnet", "baseline"}, status: store.Finished, runs: []demoRun{sweep}},
			{name: "Augmentation", description: "What each kind of augmentation is worth on its own.",
				tags: []string{"resnet"}, status: store.InProgress, runs: ablation},
		},
		models: []demoModel{{
			name: "sign-classifier", description: "What the cars ask. Must answer within 20 ms.",
			versions: []demoVersion{
				{"lr=0.01 wd=0.0001", "First that was good enough to drive with.", store.Production},
				{"lr=0.1 wd=0.0001", "Best of the sweep.", store.Production},
				{"augment none", "Only to compare with: it overfits.", store.NoStage},
				{"augment flip", "Mistakes left for right less often than the one before.", store.Production},
				{"augment flip+crop", "On two test cars until Friday.", store.Staging},
			},
		}},
	}
}

// classifier trains a small network on pictures, with 20 steps an epoch.
func classifier(r *rand.Rand, lr, decay float64, augment string, steps int) demoRun {
	miss := 0.25*off(lr, 0.1) + 0.06*off(decay, 1e-4)
	loss := falling(3.76, 0.12+miss, 18+20*off(lr, 0.1))
	accuracy := falling(0.02, 0.965-miss/3, 22+20*off(lr, 0.1))
	held := falling(3.76, 0.31+miss, 20)
	if augment == "none" {
		held = overfit(held, 180, 0.4)
	}
	return demoRun{
		status: store.Succeeded, pace: 6 * time.Second, steps: steps, command: "python train.py --augment " + augment,
		params: []demoParam{{"model", "resnet18-small"}, {"lr", number(lr)}, {"weight_decay", number(decay)},
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

func language(r *rand.Rand) demoProject {
	pretraining := []demoRun{
		languageModel(r, 1e-4, 2500, never), languageModel(r, 3e-4, 2500, never), languageModel(r, 6e-4, 2500, never),
		languageModel(r, 1e-3, 2500, never), languageModel(r, 1e-2, 900, 620), languageModel(r, 8e-4, 2100, never),
		languageModel(r, 5e-4, 1700, never),
	}
	for i := range pretraining {
		pretraining[i].started = 9*day - time.Duration(i)*18*time.Hour
	}
	pretraining[3].tags = []string{"best", "release-candidate"}
	pretraining[3].notes = "Longer warm-up than the others. Goes to the fine-tuning."
	exploded := &pretraining[4]
	exploded.status, exploded.message = store.Failed, "FloatingPointError: the loss is nan since step 704"
	exploded.tags = []string{"diverged"}
	lost := &pretraining[5]
	lost.status, lost.notes = store.Running, "The machine went away over night; nobody has heard of it since."
	live := &pretraining[6]
	live.status, live.started = store.Running, 0

	search := demoRun{
		name: "adapter search", notes: "Two ranks, four learning rates each.", tags: []string{"sweep"},
		started: 4 * day, status: store.Succeeded, params: []demoParam{{"base", "lm-20m lr=0.001"}},
	}
	for i, rank := range []int{8, 32} {
		group := demoRun{
			name: fmt.Sprintf("rank %d", rank), started: search.started - time.Duration(i)*9*time.Hour,
			tags: []string{"sweep"}, status: store.Succeeded, params: []demoParam{{"rank", strconv.Itoa(rank)}},
		}
		for j, lr := range []float64{1e-5, 1e-4, 1e-3, 3e-3} {
			run := fineTuning(r, rank, lr)
			run.started = group.started - time.Duration(j)*2*time.Hour
			group.children = append(group.children, run)
		}
		search.children = append(search.children, group)
	}
	return demoProject{
		name: "Small language model", description: "20 million parameters, trained on public-domain books.",
		tags: []string{"language"},
		experiments: []demoExperiment{
			{name: "Pre-training", description: "One pass over 1.2 billion tokens for each learning rate.",
				tags: []string{"lm-20m"}, status: store.InProgress, runs: pretraining},
			{name: "Fine-tuning on reviews", description: "Adapters for telling good reviews from bad ones.",
				tags: []string{"adapter"}, status: store.Stopped, runs: []demoRun{search}},
		},
	}
}

// languageModel trains for some of 2,500 steps, and explodes at one of them.
func languageModel(r *rand.Rand, lr float64, steps int, explodes float64) demoRun {
	best := 3.05 + 0.5*off(lr, 1e-3)
	held := again(diverge(noisy(falling(10.8, best+0.12, 60), 0.004, r), explodes))
	return demoRun{
		name: "lr=" + number(lr), status: store.Succeeded, pace: 9 * time.Second, steps: steps,
		command: "torchrun --nproc-per-node 2 pretrain.py --lr " + number(lr),
		params: []demoParam{{"lr", number(lr)}, {"warmup_steps", "125"}, {"layers", "8"}, {"width", "384"},
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

func fineTuning(r *rand.Rand, rank int, lr float64) demoRun {
	miss := 0.09*off(lr, 1e-3) + 0.3/float64(rank)
	return demoRun{
		name: fmt.Sprintf("rank=%d lr=%s", rank, number(lr)), status: store.Succeeded, pace: 11 * time.Second, steps: 300,
		command: fmt.Sprintf("python finetune.py --rank %d --lr %s", rank, number(lr)),
		params: []demoParam{{"rank", strconv.Itoa(rank)}, {"lr", number(lr)}, {"dropout", "0.05"}, {"epochs", "3"},
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

func tabular(r *rand.Rand) demoProject {
	search := demoRun{
		name: "random search", notes: "Twenty draws. Deep trees fit the noise after a hundred rounds.",
		tags: []string{"sweep", "random"}, started: 12 * day, status: store.Succeeded,
		params: []demoParam{{"method", "random"}, {"draws", "20"}, {"goal", "valid/rmse"}},
	}
	for i := range 20 {
		run := boosting(r, 3+r.IntN(8), math.Round(math.Pow(10, -2+1.6*r.Float64())*1e4)/1e4)
		if i == 13 {
			run = boosting(r, 4, 0.0001)
			run.notes, run.tags = "Too careful: after 300 rounds it has not left the plateau.", []string{"plateau"}
		}
		run.name = fmt.Sprintf("draw %02d", i+1)
		run.started = search.started - time.Duration(i)*12*time.Minute
		search.children = append(search.children, run)
	}
	search.children[17].status, search.children[17].message = store.Failed, "MemoryError: unable to allocate 5.82 GiB"
	search.children[17].steps = 41

	var networks []demoRun
	for i, width := range []int{32, 128, 512} {
		run := perceptron(r, width)
		run.started = 6*day - time.Duration(i)*time.Hour
		networks = append(networks, run)
	}
	return demoProject{
		name: "House prices", description: "What does a house cost? 79 columns, 2,930 sales.",
		tags: []string{"tabular"},
		experiments: []demoExperiment{
			{name: "Gradient boosting", description: "Depth and learning rate by random search.",
				tags: []string{"trees"}, status: store.Finished, runs: []demoRun{search}},
			{name: "Neural baseline", description: "Is a plain network as good? No.",
				tags: []string{"mlp", "baseline"}, status: store.Stopped, runs: networks},
		},
	}
}

// boosting adds trees; a step is a round.
func boosting(r *rand.Rand, depth int, lr float64) demoRun {
	half := 2.5 / lr
	deep := float64(depth)
	return demoRun{
		status: store.Succeeded, pace: 2 * time.Second, steps: 300, command: "python boost.py",
		params: []demoParam{{"depth", strconv.Itoa(depth)}, {"lr", number(lr)}, {"subsample", number(math.Round(50+50*r.Float64()) / 100)},
			{"rounds", "300"}, {"l2", "1.0"}},
		curves: []curve{
			{"train/rmse", 1, noisy(falling(79_000, 21_000-1_500*deep, half), 0.004, r)},
			{"valid/rmse", 1, noisy(overfit(falling(79_500, 23_500+100*off(deep, 5), half), 100, 400*max(0, deep-5)*min(1, lr*10)), 0.006, r)},
		},
	}
}

func perceptron(r *rand.Rand, width int) demoRun {
	wide := float64(width)
	return demoRun{
		name: fmt.Sprintf("width %d", width), status: store.Succeeded, pace: 3 * time.Second, steps: 500,
		command: fmt.Sprintf("python mlp.py --width %d", width),
		params:  []demoParam{{"width", strconv.Itoa(width)}, {"layers", "3"}, {"dropout", "0.1"}, {"scaler", "quantile"}},
		curves: []curve{
			{"train/rmse", 1, noisy(falling(180_000, 30_000-20*wide, 7), 0.03, r)},
			{"valid/rmse", 1, noisy(overfit(falling(180_000, 33_000, 8), 90, 9*wide), 0.02, r)},
			{"train/r2", 1, share(noisy(falling(0, 0.92, 9), 0.01, r))},
			{"valid/r2", 1, share(noisy(falling(0, 0.86, 9), 0.015, r))},
		},
	}
}

// number writes a setting as people write it in a configuration.
func number(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// demoSnapshot is the code and environment that a command would have had.
func demoSnapshot(command string) store.NewSnapshot {
	clean := false
	return store.NewSnapshot{
		GitSHA:       "5f3c1e0b7d9a42c68e1f0a3b5d7c9e2f4a6b8c0d",
		GitDirty:     &clean,
		GitRemote:    "git@example.com:lab/demo.git",
		Entrypoint:   "train.py",
		Command:      command,
		Hostname:     "gpu-01",
		Runtime:      "Python 3.13.1",
		Dependencies: "numpy==2.2.1\ntorch==2.6.0\n",
	}
}
