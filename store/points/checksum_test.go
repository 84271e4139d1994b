package points

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tracker/store/sqlite"
)

// TestChecksumOfPoint fails if the checksum of a point changes. Existing files contain sums of
// these checksums.
func TestChecksumOfPoint(t *testing.T) {
	for _, c := range []struct {
		point point
		want  int64
	}{
		{point{}, -491808250474194095},
		{point{7, 12, 0.25, 1_790_000_000_000}, 9082775250103118401},
		{point{-7, 13, Value(math.NaN()), -1}, 5451800251400597044},
		{point{math.MaxInt64, math.MaxInt64, Value(math.Inf(-1)), math.MinInt64}, -3710070577133871908},
	} {
		if got := c.point.checksum(); got != c.want {
			t.Errorf("%+v has the checksum %d, want %d", c.point, got, c.want)
		}
	}
	if a, b := (point{value: 0}), (point{value: Value(math.Copysign(0, -1))}); a.checksum() != b.checksum() {
		t.Error("the checksum depends on the sign of a zero, which SQLite does not store")
	}
	quiet, other := math.NaN(), math.Float64frombits(math.Float64bits(math.NaN())^1)
	if a, b := (point{value: Value(quiet)}), (point{value: Value(other)}); a.checksum() != b.checksum() {
		t.Error("the checksum depends on the bits of a NaN, which SQLite does not store")
	}
}

// A changed bit in any column changes the checksum.
func TestChecksumOfEachBit(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 24))
	for range 200 {
		p := point{Step(random.Int64N(1000)), random.Int64N(1000), Value(random.NormFloat64()), Time(random.Uint64())}
		for bit := range 64 {
			for i := range 4 {
				changed := p
				switch i {
				case 0:
					changed.step ^= 1 << bit
				case 1:
					changed.seq ^= 1 << bit
				case 2:
					changed.value = Value(math.Float64frombits(math.Float64bits(float64(p.value)) ^ 1<<bit))
				case 3:
					changed.at ^= 1 << bit
				}
				if changed.checksum() == p.checksum() {
					t.Fatalf("%+v and %+v have the same checksum", p, changed)
				}
			}
		}
	}
}

// wantChecksums compares the stored checksums with the stored points.
func (b *bed) wantChecksums(t testing.TB) {
	t.Helper()
	b.read(t, func(tx *Tx) error {
		sums := map[int64]int64{}
		rows, err := tx.Rows(`SELECT series_id, step, seq, value, recorded_at FROM metric
			UNION ALL
			SELECT series_id, step, seq, value, recorded_at FROM recent
			WHERE seq <= (SELECT counted_seq FROM series WHERE id = series_id)
			AND seq > (SELECT moved_seq FROM series WHERE id = series_id)`)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id int64
			var p point
			if err := rows.Scan(&id, &p.step, &p.seq, &p.value, &p.at); err != nil {
				return err
			}
			sums[id] += p.checksum()
		}
		var all []struct {
			ID       int64 `db:"id"`
			Checksum int64 `db:"checksum"`
		}
		err = tx.Select(&all, `SELECT id, checksum FROM series WHERE id NOT IN (SELECT series_id FROM checksum_due)`)
		for _, s := range all {
			if s.Checksum != sums[s.ID] {
				t.Errorf("series %d has the checksum %d, its points have %d", s.ID, s.Checksum, sums[s.ID])
			}
		}
		return errors.Join(err, rows.Err())
	})
}

// The checksum of a series equals the sum of its points' checksums after random writes, patches,
// deletions, compactions and kills, with and without the lock of the file.
func TestChecksumEqualsThePoints(t *testing.T) {
	for seed := range uint64(3) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 24))
			exclusive := seed%3 != 2
			b := newBed(t, exclusive)
			samples := func(n int) (all []Sample) {
				for range 1 + random.IntN(n) {
					value := random.NormFloat64()
					if random.IntN(10) == 0 {
						value = []float64{math.NaN(), math.Inf(1), 0, math.Copysign(0, -1)}[random.IntN(4)]
					}
					s := sample([]string{"loss", "acc"}[random.IntN(2)], random.Int64N(1500), value)
					s.RecordedAt = new(Time(random.Int64N(1 << 40)))
					all = append(all, s)
				}
				return all
			}
			var ids []string
			change := func(fn func(*Tx, Point) error) {
				if len(ids) == 0 {
					return
				}
				id := ids[random.IntN(len(ids))]
				wantOK(t, b.write(sqlite.Change, func(tx *Tx) error {
					p, err := tx.Point(id)
					if errors.Is(err, ErrNotFound) {
						return nil
					}
					return errors.Join(err, fn(tx, p))
				}))
			}
			for range 100 {
				switch random.IntN(10) {
				case 0, 1, 2:
					ids = append(ids, b.append(t, samples([]int{3, 400}[random.IntN(2)])...)...)
				case 3:
					err := b.write(sqlite.Change, func(tx *Tx) error {
						return errors.Join(tx.AppendAll(1, samples(50), 0), tx.Flush(), errTest)
					})
					if !errors.Is(err, errTest) {
						t.Fatal(err)
					}
				case 4, 5:
					all := samples(60)
					wantOK(t, b.write(sqlite.Change, func(tx *Tx) error {
						_, err := tx.Put(1, all)
						return err
					}))
				case 6:
					patch := Patch{Value: new(Value(random.NormFloat64()))}
					switch random.IntN(3) {
					case 0:
						patch = Patch{Step: new(Step(random.Int64N(1500))), RecordedAt: new(Time(random.Int64N(1 << 40)))}
					case 1:
						patch.Key = new([]string{"loss", "acc", "other"}[random.IntN(3)])
					}
					change(func(tx *Tx, p Point) error { return tx.Update(p, patch) })
				case 7:
					change(func(tx *Tx, p Point) error { return tx.Delete(p) })
				case 8:
					if random.IntN(3) > 0 {
						break
					}
					from := Step(random.Int64N(1500))
					wantOK(t, b.write(sqlite.Change, func(tx *Tx) error {
						_, err := tx.DeleteFrom(1, "loss", from)
						return err
					}))
				case 9:
					if random.IntN(2) == 0 {
						wantOK(t, b.Compact(ctx))
						break
					}
					path := filepath.Join(t.TempDir(), "killed.db") // as after a kill
					for _, suffix := range []string{"", "-wal"} {
						data, err := os.ReadFile(b.path + suffix)
						wantOK(t, err)
						wantOK(t, os.WriteFile(path+suffix, data, 0o600))
					}
					b = openBed(t, path, exclusive)
				}
				b.wantChecksums(t)
			}
			b.wantClean(t)
		})
	}
}

// problems returns the findings of a check.
func (b *bed) problems(t testing.TB) (found []Problem) {
	t.Helper()
	b.read(t, func(tx *Tx) (err error) {
		found, err = new(Check).Series(tx, math.MaxInt64)
		return err
	})
	return found
}

// A check finds a changed step, seq, value or time until a repair accepts the change, even if the
// series was written, patched or rewound after the change.
func TestCheckFindsChangedPoints(t *testing.T) {
	for _, damage := range []string{
		`UPDATE metric SET step = 3000 WHERE step = 40`,
		`UPDATE metric SET seq = 1 WHERE step = 40`,
		`UPDATE metric SET value = value + 1e-9 WHERE step = 40`,
		`UPDATE metric SET value = NULL WHERE step = 40`,
		`UPDATE metric SET recorded_at = recorded_at + 1 WHERE step = 40`,
		`UPDATE metric SET recorded_at = iif(step = 40, 41, 40) WHERE step IN (40, 41)`,
		`DELETE FROM metric WHERE step = 40`,
	} {
		t.Run(damage, func(t *testing.T) {
			b := newBed(t, true)
			var all []Sample
			for step := range int64(1000) {
				all = append(all, sample("loss", step, float64(step)))
			}
			ids := b.append(t, all...)
			b.wantClean(t)
			wantOK(t, b.write(sqlite.Change, func(tx *Tx) error {
				_, err := tx.Exec(damage)
				return err
			}))
			wantFound := func(after string) {
				t.Helper()
				found := b.problems(t)
				if len(found) == 0 || !found[0].Lost || found[0].Iteration != 1 || !strings.Contains(found[0].Text, `points of metric "loss"`) {
					t.Fatalf("after %s: found %+v", after, found)
				}
			}
			wantFound("the damage")
			b.append(t, sample("loss", 1000, 1))
			wantOK(t, b.Compact(ctx))
			wantFound("a point")
			wantOK(t, b.write(sqlite.Change, func(tx *Tx) error {
				p, err := tx.Point(ids[30])
				return errors.Join(err, tx.Update(p, Patch{Value: new(Value(7))}))
			}))
			wantFound("a patch")
			wantOK(t, b.write(sqlite.Change, func(tx *Tx) error {
				_, err := tx.Put(1, []Sample{sample("loss", 20, 3)})
				return err
			}))
			wantFound("a put")
			wantOK(t, b.write(sqlite.Change, func(tx *Tx) error {
				_, err := tx.DeleteFrom(1, "loss", 900)
				return err
			}))
			wantFound("a rewind")
			for _, p := range b.problems(t) {
				wantOK(t, b.write(sqlite.Change, p.Repair))
			}
			b.wantClean(t)
			b.wantChecksums(t)
		})
	}
}

// The checksums of series from an earlier version are completed while other points are written.
func TestDueChecksums(t *testing.T) {
	b := newBed(t, true)
	var ids []string
	for i := range 30 {
		for step := range int64(i * 20) {
			ids = append(ids, b.append(t, sample(fmt.Sprint("key ", i), step, float64(step)))...)
		}
	}
	wantOK(t, b.write(sqlite.Change, func(tx *Tx) error {
		_, err := tx.Exec(`INSERT INTO checksum_due (series_id) SELECT id FROM series UNION SELECT 1000`)
		if err == nil {
			_, err = tx.Exec(`UPDATE series SET checksum = 0`)
		}
		return err
	}))
	b.append(t, sample("key 3", 100, 1), sample("key 4", 100, 1))
	wantOK(t, b.write(sqlite.Change, func(tx *Tx) error {
		p, err := tx.Point(ids[700])
		return errors.Join(err, tx.Delete(p))
	}))
	b.wantClean(t) // an incomplete checksum in checksum_due is not a problem
	for found := true; found; {
		var err error
		found, err = b.completeChecksums(ctx)
		wantOK(t, err)
		b.append(t, sample("key 3", 101, 1))
	}
	if n := b.rows(t, "checksum_due"); n != 0 {
		t.Errorf("%d checksums are due", n)
	}
	wantOK(t, b.Compact(ctx))
	b.wantChecksums(t)
	b.wantClean(t)
}
