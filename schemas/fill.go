package schemas

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strconv"
)

// fillDocument is the fast way to read a document into v, which is new: what it accepts has nothing that
// the walker names and is what encoding/json reads. Otherwise v is of no use.
func fillDocument[T any](data []byte, s *shape, v *T) bool {
	w := walker{data: data, fills: true}
	read := w.readValue(s, reflect.ValueOf(v).Elem()) && w.atEnd()
	return read && !w.unfit
}

// readPart reads a value that is set from its whole text.
func (w *walker) readPart(s *shape, to reflect.Value) bool {
	start := w.pos
	later := w.later
	w.later = later || s.later
	read := w.readValue(s, reflect.Value{})
	w.later = later
	if read && !setText(to, w.data[start:w.pos]) {
		w.unfit = true
	}
	return read
}

func setText(to reflect.Value, text []byte) bool {
	switch to := to.Addr().Interface().(type) {
	case *json.RawMessage:
		*to = bytes.Clone(text)
		return true
	case *Content:
		if text[0] != '"' {
			return to.UnmarshalJSON(text) == nil
		}
		to.text = unquoteText(text[1 : len(text)-1])
		return true
	default:
		return json.Unmarshal(text, to) == nil
	}
}

// setNumber reports false for a number that does not fit.
func setNumber(to reflect.Value, text string) bool {
	switch {
	case to.CanInt():
		n, err := strconv.ParseInt(text, 10, to.Type().Bits())
		to.SetInt(n)
		return err == nil
	case to.CanUint():
		n, err := strconv.ParseUint(text, 10, to.Type().Bits())
		to.SetUint(n)
		return err == nil
	}
	f, err := strconv.ParseFloat(text, to.Type().Bits())
	to.SetFloat(f)
	return err == nil
}

// nextElement returns element i of a slice, which grows by it; the zero Value without a slice.
func nextElement(list reflect.Value, i int) reflect.Value {
	if !list.IsValid() {
		return list
	}
	if i == list.Cap() {
		list.Grow(max(i, 2))
	}
	list.SetLen(i + 1)
	return list.Index(i)
}

// fieldOf returns a field of a struct; the zero Value without a struct or an index.
func fieldOf(to reflect.Value, index []int) reflect.Value {
	switch {
	case !to.IsValid() || len(index) == 0:
		return reflect.Value{}
	case len(index) == 1:
		return to.Field(index[0])
	}
	return to.FieldByIndex(index)
}
