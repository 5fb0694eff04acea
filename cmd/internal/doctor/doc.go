// Package doctor is satchel doctor: it says what works, what does not, and which promises hold.
package doctor
