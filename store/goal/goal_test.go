package goal_test

import (
	"fmt"
	"strings"
	"testing"

	"tracker/store/goal"
	"tracker/store/search"
)

func TestGuess(t *testing.T) {
	for want, names := range map[string][]string{
		"minimize val/loss":        {"amp/scale", "grad/norm", "system/gpu", "train/acc", "train/loss", "val/accuracy", "val/loss"},
		"maximize eval_accuracy":   {"epoch", "eval_accuracy", "train_loss_scale", "lr"},
		"minimize loss":            {"acc", "loss", "steps"},
		"maximize episode_reward":  {"episode_reward", "episode_length"},
		"minimize validation_rmse": {"mse", "validation_rmse"},
		"maximize test/f1":         {"test/f1", "train/f1"},
		"maximize mAP50":           {"mAP50", "mapping_seconds"},
		"":                         {"epoch", "lr", "system/cpu", "gradient_error", "across", "mapping", "value"},
	} {
		var keys []search.Key
		for _, name := range names {
			keys = append(keys, search.Key{Kind: search.MetricKey, Key: name}, search.Key{Kind: search.ParamKey, Key: "val/loss"})
		}
		got := ""
		if o := goal.Guess(keys); o != nil {
			got = fmt.Sprint(o.Goal, " ", o.Metric)
		}
		if got != want {
			t.Errorf("of %q: %q, want %q", names, got, want)
		}
	}
}

func TestGoalOf(t *testing.T) {
	for want, names := range map[goal.Goal][]string{
		goal.Minimize: {"loss", "train_loss", "reconloss", "Loss/7", "x.RMSE", "err", "a-err-b", "logloss2 loss3"},
		goal.Maximize: {"acc", "F1", "top1_acc", "r2", "mAP50", "b.map", "é.acc", "acc2"},
		"":            {"", "losses", "errs", "across", "xacc", "accx", "system/loss", "Timing/err", "LAYER0/loss", "loss_scale"},
	} {
		for _, name := range names {
			if got := goal.Of(name); got != want {
				t.Errorf("of %q: %q, want %q", name, got, want)
			}
		}
	}
}

func TestInterestOf(t *testing.T) {
	for want, names := range map[goal.Interest][]string{
		goal.HeldOut:  {"val/loss", "VAL_LOSS", "eval_loss", "valid_1/AUC", "test/latency", "val/loss_epoch"},
		goal.Learned:  {"loss", "train/acc", "train_loss_step", "mAP50", "_map", "interval_error", "latest/loss"},
		goal.Logged:   {"", "/", "mapped", "steps", "timestep", "xlr", "constructor", "latest/x", "/val"},
		goal.Internal: {"lr", "LEARNING_RATE", "AMP/x", "layer0/norm", "val/lr", "gpu.time", "a.step_1", "weight_norm", "Timing/x"},
		goal.Single:   {"summary/loss", "best/val_loss"},
		goal.Machine:  {"system/cpu", "system/loss"},
	} {
		for _, name := range names {
			if got := goal.InterestOf(name); got != want {
				t.Errorf("of %q: %v, want %v", name, got, want)
			}
		}
	}
}

func BenchmarkGoalOf(b *testing.B) {
	name := strings.Repeat("0", 200)
	for b.Loop() {
		goal.Of(name)
	}
}
