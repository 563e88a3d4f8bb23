package demovendor

import (
	"cmp"
	"encoding/json"
)

// models is the list of models in the wire's shape.
func (v *Vendor) models() []byte {
	if v.cfg.Wire == WireOpenAI {
		return v.openaiModels()
	}
	type entry struct {
		Type        string `json:"type"`
		ID          string `json:"id"`
		DisplayName string `json:"display_name"`
		CreatedAt   string `json:"created_at"`
		MaxInput    int    `json:"max_input_tokens"`
		MaxOutput   int    `json:"max_tokens"`
		Lifecycle   string `json:"lifecycle"`
	}
	list := struct {
		Data    []entry `json:"data"`
		HasMore bool    `json:"has_more"`
		FirstID *string `json:"first_id"`
		LastID  *string `json:"last_id"`
	}{Data: []entry{}}
	for i, m := range v.cfg.Models {
		list.Data = append(list.Data, entry{"model", m.Name, cmp.Or(m.DisplayName, m.Name), modelsSince, m.ContextTokens, m.MaxOutput, "active"})
		if i == 0 {
			list.FirstID = &v.cfg.Models[i].Name
		}
		list.LastID = &v.cfg.Models[i].Name
	}
	b, _ := json.Marshal(list)
	return b
}

// The date that the simulated models are said to be from, in both wires' forms.
const (
	modelsSince     = "2026-10-01T00:00:00Z"
	modelsSinceUnix = 1_790_812_800
)

func (v *Vendor) openaiModels() []byte {
	type entry struct {
		ID      string `json:"id"`
		Object  string `json:"object"`
		Created int64  `json:"created"`
		OwnedBy string `json:"owned_by"`
	}
	list := struct {
		Object string  `json:"object"`
		Data   []entry `json:"data"`
	}{Object: "list", Data: []entry{}}
	for _, m := range v.cfg.Models {
		list.Data = append(list.Data, entry{m.Name, "model", modelsSinceUnix, "simulated"})
	}
	b, _ := json.Marshal(list)
	return b
}
