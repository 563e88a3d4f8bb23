package locale

var japanese = map[string]string{}
