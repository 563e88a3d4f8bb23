package simulate

import (
	"embed"
	"fmt"
	"path"
	"strings"
)

//go:embed scenarios/*.json
var scenarios embed.FS

const scenarioFolder = "scenarios"

// Names are those of the scenarios that ship, in their order on screens.
func Names() []string {
	return []string{
		"brown-out", "regional-outage", "429-storm", "slow-first-token", "fleet-wide-529", "flapping", "stream-cuts", "all-down",
	}
}

// Source returns a shipped scenario's JSON text, as a start for one's own.
func Source(name string) ([]byte, error) {
	text, err := scenarios.ReadFile(path.Join(scenarioFolder, name+".json"))
	if err != nil {
		return nil, fmt.Errorf("no scenario %q ships; there are %s", name, strings.Join(Names(), ", "))
	}
	return text, nil
}

// Shipped returns a scenario that ships.
func Shipped(name string) (*Scenario, error) {
	text, err := Source(name)
	if err != nil {
		return nil, err
	}
	return Parse(text)
}
