package price_test

import (
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"github.com/spillway-llm/spillway/core/price"
	"pgregory.net/rapid"
)

// table is a price list of 3 / 15 / 0.30 / 3.75 / 6 dollars per million.
func table() price.Table {
	return price.Table{
		Input: price.PerMillion(3), Output: price.PerMillion(15), CacheRead: price.PerMillion(0.30),
		CacheWrite: price.PerMillion(3.75), CacheWrite1h: price.PerMillion(6), AsOf: "2026-11-29",
	}
}

func usage(input, read, write, write1h, output int64) price.Usage {
	return price.Usage{
		Input: input, CacheRead: read, CacheWrite: write, CacheWrite1h: write1h, Output: output, Known: true,
	}
}

// The first two rows are what two vendors report and bill for the same 10,010
// tokens of prompt: one excludes cached tokens from its input, one includes them.
func TestTable_Cost(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		usage price.Usage
		want  price.Pico
		usd   float64
	}{
		"cache_written_and_read":   {usage(10, 8000, 2000, 0, 100), 11_430_000_000, 0.01143},
		"cache_read_only":          {usage(2010, 8000, 0, 0, 100), 9_930_000_000, 0.00993},
		"one_hour_cache":           {usage(0, 0, 0, 1000, 0), 6_000_000_000, 0.006},
		"one_token":                {usage(1, 0, 0, 0, 0), 3_000_000, 0.000003},
		"nothing_used":             {usage(0, 0, 0, 0, 0), 0, 0},
		"reasoning_is_in_output":   {price.Usage{Output: 100, Reasoning: 80, Known: true}, 1_500_000_000, 0.0015},
		"estimates_have_a_cost":    {price.Usage{Input: 1000, Known: true, Estimated: true}, 3_000_000_000, 0.003},
		"a_month_of_output_tokens": {usage(0, 0, 0, 0, 100_000_000), 1500 * price.PicoPerUSD, 1500},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, known := table().Cost(tc.usage)
			if !known || got != tc.want {
				t.Errorf("got %d, %v, want %d", got, known, tc.want)
			}
			if usd := price.USD(got); usd != tc.usd {
				t.Errorf("got $%v, want $%v", usd, tc.usd)
			}
		})
	}
}

func TestUsage_PromptIsWhatBothVendorsMean(t *testing.T) {
	t.Parallel()
	a, o := usage(10, 8000, 2000, 0, 100), usage(2010, 8000, 0, 0, 100)
	if a.Prompt() != 10_010 || o.Prompt() != 10_010 {
		t.Errorf("got %d and %d, want 10010 both", a.Prompt(), o.Prompt())
	}
}

func TestTable_UnknownIsNotFree(t *testing.T) {
	t.Parallel()
	free := price.Table{AsOf: "2026-11-29"}
	for name, tc := range map[string]struct {
		table price.Table
		usage price.Usage
		known bool
	}{
		"no_table":          {price.Table{}, usage(1, 0, 0, 0, 1), false},
		"no_usage":          {table(), price.Usage{}, false},
		"figures_not_known": {table(), price.Usage{Input: 5}, false},
		"free_of_charge":    {free, usage(1, 0, 0, 0, 1), true},
	} {
		if got, known := tc.table.Cost(tc.usage); known != tc.known || got != 0 {
			t.Errorf("%s: got %d, %v, want 0, %v", name, got, known, tc.known)
		}
	}
}

func TestTable_LongTier(t *testing.T) {
	t.Parallel()
	long := table()
	long.LongAbove = 200_000
	long.Long = &price.Table{Input: price.PerMillion(6), Output: price.PerMillion(22.5), CacheRead: price.PerMillion(0.60)}
	for name, tc := range map[string]struct {
		table price.Table
		usage price.Usage
		want  price.Pico
	}{
		"at_the_limit":           {long, usage(200_000, 0, 0, 0, 1000), 615_000_000_000},
		"above_for_all_tokens":   {long, usage(200_001, 0, 0, 0, 1000), 1_222_506_000_000},
		"cached_tokens_count":    {long, usage(1, 200_000, 0, 0, 0), 120_006_000_000},
		"output_does_not_count":  {long, usage(10, 0, 0, 0, 300_000), 4_500_030_000_000},
		"no_limit_is_never_long": {price.Table{Input: 1, AsOf: "x", Long: long.Long}, usage(500_000, 0, 0, 0, 0), 500_000},
		"limit_without_a_table":  {price.Table{Input: 1, AsOf: "x", LongAbove: 5}, usage(6, 0, 0, 0, 0), 6},
	} {
		if got, known := tc.table.Cost(tc.usage); !known || got != tc.want {
			t.Errorf("%s: got %d, %v, want %d", name, got, known, tc.want)
		}
	}
	if long.Long.AsOf != "" || long.Long.Known() {
		t.Error("the long table was changed by reading it")
	}
}

func TestTable_NonsenseIsUnknown(t *testing.T) {
	t.Parallel()
	dear := price.Table{Input: math.MaxInt64, Output: 1, AsOf: "x"}
	for name, tc := range map[string]struct {
		table price.Table
		usage price.Usage
	}{
		"negative_tokens":  {table(), usage(-1, 0, 0, 0, 100)},
		"negative_price":   {price.Table{Input: -3, AsOf: "x"}, usage(1, 0, 0, 0, 0)},
		"product_too_big":  {table(), usage(math.MaxInt64, 0, 0, 0, 0)},
		"just_over":        {dear, usage(2, 0, 0, 0, 0)},
		"sum_too_big":      {dear, usage(1, 0, 0, 0, 1)},
		"sum_wraps_around": {price.Table{Input: 1 << 32, Output: 1 << 32, AsOf: "x"}, usage(1<<31-1, 0, 0, 0, 1<<31)},
	} {
		if got, known := tc.table.Cost(tc.usage); known || got != 0 {
			t.Errorf("%s: got %d, %v, want unknown", name, got, known)
		}
	}
	if got, known := dear.Cost(usage(1, 0, 0, 0, 0)); !known || got != math.MaxInt64 {
		t.Errorf("the largest cost: got %d, %v", got, known)
	}
}

// The cost is the exact sum or unknown, never a wrapped one.
func TestTable_CostIsExact(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := func(label string) int64 {
			return rapid.Int64Range(0, 1<<rapid.IntRange(1, 62).Draw(t, "bits")).Draw(t, label)
		}
		tab := price.Table{Input: n("in"), Output: n("out"), CacheRead: n("read"), CacheWrite: n("w"), CacheWrite1h: n("h"), AsOf: "x"}
		u := usage(n("in"), n("read"), n("w"), n("h"), n("out"))
		want := new(big.Int)
		for _, p := range [][2]int64{
			{u.Input, tab.Input}, {u.CacheRead, tab.CacheRead}, {u.CacheWrite, tab.CacheWrite},
			{u.CacheWrite1h, tab.CacheWrite1h}, {u.Output, tab.Output},
		} {
			want.Add(want, new(big.Int).Mul(big.NewInt(p[0]), big.NewInt(p[1])))
		}
		got, known := tab.Cost(u)
		if known != want.IsInt64() || known && got != want.Int64() {
			t.Fatalf("got %d, %v, want %v", got, known, want)
		}
	})
}

func TestPerMillion(t *testing.T) {
	t.Parallel()
	for usd, want := range map[float64]price.Pico{
		0: 0, 0.01: 10_000, 0.30: 300_000, 0.1: 100_000, 2.5: 2_500_000, 3.75: 3_750_000, 75: 75_000_000,
		0.000001: 1, 0.0000004: 0, -3: 0, math.NaN(): 0, math.Inf(-1): 0,
		math.Inf(1): math.MaxInt64, 1e300: math.MaxInt64,
	} {
		if got := price.PerMillion(usd); got != want {
			t.Errorf("%v: got %d, want %d", usd, got, want)
		}
	}
}

func TestJSON(t *testing.T) {
	t.Parallel()
	b, err := json.Marshal(table())
	const want = `{"input":3000000,"output":15000000,"cache_read":300000,"cache_write":3750000,"cache_write_1h":6000000,"as_of":"2026-11-29"}`
	if err != nil || string(b) != want {
		t.Errorf("got %s, %v, want %s", b, err, want)
	}
	b, err = json.Marshal(usage(1, 2, 3, 4, 5))
	const wantUsage = `{"input":1,"cache_read":2,"cache_write":3,"cache_write_1h":4,"output":5,"reasoning":0,"known":true}`
	if err != nil || string(b) != wantUsage {
		t.Errorf("got %s, %v, want %s", b, err, wantUsage)
	}
}

// Not parallel, because allocations are counted for the whole process.
func TestTable_CostAllocatesNothing(t *testing.T) {
	tab, u := table(), usage(10, 8000, 2000, 0, 100)
	tab.LongAbove, tab.Long = 5, &price.Table{Input: 1}
	if n := testing.AllocsPerRun(1000, func() { tab.Cost(u) }); n != 0 {
		t.Errorf("got %v allocations, want 0", n)
	}
}
