package policy_test

import (
	"context"
	"reflect"
	"testing"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/storage"
	"github.com/open-policy-agent/opa/v1/tester"

	"github.com/spillway-llm/spillway/core"
	"github.com/spillway-llm/spillway/core/policy"
)

func TestShippedTestsPass(t *testing.T) {
	t.Parallel()
	report, err := policy.LocalWorker{}.Test(context.Background(), files(nil))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range report.Problems {
		t.Error(p)
	}
	if len(report.Tests) < 50 || report.Passed() != len(report.Tests) {
		t.Errorf("%d of %d tests passed, want all of at least 50", report.Passed(), len(report.Tests))
	}
	for file, percent := range report.Coverage {
		if percent < 95 {
			t.Errorf("%s: the tests cover %.0f %%, want at least 95", file, percent)
		}
	}
}

// The folder must work with the opa command as it is: this loads it as that does.
func TestFolderIsOrdinaryRego(t *testing.T) {
	t.Parallel()
	modules, store, err := tester.LoadWithRegoVersion([]string{"../../policies"}, nil, ast.RegoV1)
	if err != nil {
		t.Fatal(err)
	}
	ctx := context.Background()
	txn, err := store.NewTransaction(ctx, storage.TransactionParams{})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Abort(ctx, txn)
	results, err := tester.NewRunner().SetStore(store).SetModules(modules).SetDefaultRegoVersion(ast.RegoV1).RunTests(ctx, txn)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r := range results {
		n++
		if !r.Pass() {
			t.Errorf("%s failed", r.Name)
		}
	}
	if n < 50 {
		t.Errorf("%d tests ran, want at least 50", n)
	}
}

func TestDefaultTablesEqualTheShippedPolicies(t *testing.T) {
	t.Parallel()
	defaultsEqual(t, shipped(t, policy.Options{}))
}

func defaultsEqual(t *testing.T, p *policy.Policy) {
	t.Helper()
	got := p.Revision.Tables
	want := core.DefaultTables(p.Revision.Catalog)
	if err := want.Check(p.Revision.Catalog); err != nil {
		t.Fatal(err)
	}
	if len(got.UseCases) != len(want.UseCases) {
		t.Fatalf("%d use cases, want %d", len(got.UseCases), len(want.UseCases))
	}
	equal(t, "limits of targets", got.TargetLimits, want.TargetLimits)
	equal(t, "rates of quota groups", got.GroupRates, want.GroupRates)
	equal(t, "limits of use cases", got.UseCaseLimits, want.UseCaseLimits)
	for u, useCase := range want.UseCases {
		if !reflect.DeepEqual(got.UseCases[u], useCase) {
			t.Errorf("use case %+v, want %+v", got.UseCases[u], useCase)
		}
		equal(t, useCase.ID+" circuits", got.Circuits[u], want.Circuits[u])
		equal(t, useCase.ID+" budgets", got.Budgets[u], want.Budgets[u])
		equal(t, useCase.ID+" tiers", got.Tiers[u], want.Tiers[u])
		equal(t, useCase.ID+" served", got.Served[u], want.Served[u])
		for k := range core.KindCount {
			equal(t, useCase.ID+" reaction to "+k.String(), got.Reactions[u][k], want.Reactions[u][k])
		}
		// Texts are policy data: an embedder without policies has none.
		told := got.Disclosures[u]
		for a := range told {
			for s := range told[a] {
				for l := range told[a][s] {
					told[a][s][l].Text = ""
				}
			}
		}
		equal(t, useCase.ID+" disclosures", told, want.Disclosures[u])
	}
}

func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: policies say\n%+v, core says\n%+v", what, got, want)
	}
}
