package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/limit"
	"github.com/spillway-llm/spillway/core/price"
	"github.com/spillway-llm/spillway/store"
)

// noonClock is the real clock on a fixed day.
type noonClock struct{ *core.SystemClock }

func (noonClock) Wall() time.Time { return noon() }

// spendingEngine has one target; a request costs a cent, and the key's cap is
// three a day.
func spendingEngine(r core.Recorder) (*core.Engine, error) {
	c, err := core.NewCatalog(
		[]core.Provider{{ID: "p", Wire: core.WireOpenAI, Vendor: "v", Keys: []core.Key{{ID: "k"}}, Nodes: []core.Node{{ID: "n"}}}},
		[]core.Target{{ID: "t", Provider: "p", Price: price.Table{Output: price.PerMillion(100), AsOf: "2026-11-01"}}},
	)
	if err != nil {
		return nil, err
	}
	return core.New(core.Config{Revision: core.DefaultRevision(c), Recorder: r, Clock: noonClock{core.NewSystemClock()}})
}

func spendCent(e *core.Engine) error {
	req := &core.Request{
		KeyID: "team", Limits: core.CallerLimits{Spend: limit.SpendSettings{DayPico: 3 * price.PicoPerUSD / 100}},
		Facts: core.Facts{MaxTokens: 100},
	}
	_, err := core.Do(context.Background(), e, req, func(_ context.Context, a *core.Attempt) (int, error) {
		a.Usage = price.Usage{Output: 100, Known: true}
		return 0, nil
	})
	return err
}

// spendUntilKilled spends two of the three cents, and waits until they are in
// the database.
func spendUntilKilled(db *store.DB) error {
	e, err := spendingEngine(db)
	if err != nil {
		return err
	}
	for range 2 {
		if err := spendCent(e); err != nil {
			return err
		}
	}
	e.Tick()
	if err := db.Flush(context.Background()); err != nil {
		return err
	}
	fmt.Println("ready 2")
	select {}
}

// A kill frees no cap: the next process goes on with what was spent.
func TestCrash_SpendingIsRemembered(t *testing.T) {
	t.Parallel()
	cfg := config(t)
	killChild(t, cfg.Path, "spend")
	db := open(t, cfg)
	state, err := db.LoadState(context.Background())
	if err != nil || len(state.Spends) != 1 || state.Spends[0].DayPico != 2*price.PicoPerUSD/100 {
		t.Fatalf("restored %+v, %v, want two cents", state.Spends, err)
	}
	e, err := spendingEngine(db)
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	e.Restore(state)
	if err := spendCent(e); err != nil {
		t.Errorf("the third cent: %v", err)
	}
	var refused *core.Error
	if err := spendCent(e); !errors.As(err, &refused) || refused.Code != "spend_per_day" {
		t.Errorf("the fourth cent: %v", err)
	}
}
