package locale

var english = map[string]string{}
