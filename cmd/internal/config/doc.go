// Package config has every setting of the program once: its flag, its variable, default, range and help. It knows
// no driver and nothing of a node. It also finds variables that look like misspelt settings and masks secrets.
package config
