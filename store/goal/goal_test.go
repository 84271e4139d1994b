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

func BenchmarkGoalOf(b *testing.B) {
	name := strings.Repeat("0", 200)
	for b.Loop() {
		goal.Of(name)
	}
}
