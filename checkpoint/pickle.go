package checkpoint

import (
	"encoding/binary"
	"math"
	"slices"

	"github.com/pkg/errors"
)

// A pickle is a program for a stack machine (Python's library reference, pickletools). This one
// runs the instructions that torch.save writes, and calls nothing: the few classes that a file of
// weights needs are known by name, any other is refused. Each instruction adds at most one value of
// a size that its own bytes justify, and a program has values in proportion to its length, so that
// memory is bounded by that.

// The values of a pickle, besides nil, bool, int64, float64, string and []byte.
type (
	pickleMark  struct{}
	pickleClass struct{ module, name string }
	pickleList  struct{ items []any } // a list or a tuple
	// pickleDict is a dict, or an OrderedDict, with its keys in order.
	pickleDict struct {
		keys   []any
		values map[any]any
	}
)

// set sets the value of a key, a text or a number.
func (d *pickleDict) set(key, value any) error {
	switch key.(type) {
	case string, int64, bool, float64, nil:
	default:
		return errors.Errorf("want texts and numbers as keys of a dict, got %T", key)
	}
	if _, twice := d.values[key]; !twice {
		d.keys = append(d.keys, key)
	}
	if d.values == nil {
		d.values = map[any]any{}
	}
	d.values[key] = value
	return nil
}

// pickleMachine runs a pickle.
type pickleMachine struct {
	code  []byte
	at    int
	stack []any
	memo  map[uint64]any
	spent int // values that were pushed or remembered; a dict counts as four
	// call makes an object of a class; persistent makes one of a persistent id.
	call       func(class pickleClass, args []any) (any, error)
	persistent func(id any) (any, error)
}

// run returns what the pickle makes.
func (m *pickleMachine) run() (any, error) {
	m.memo = map[uint64]any{}
	for {
		op, err := m.take(1)
		if err != nil {
			return nil, err
		}
		if op[0] == '.' { // STOP
			return m.pop()
		}
		if err := m.step(op[0]); err != nil {
			return nil, errors.WithMessagef(err, "pickle: byte %d", m.at-1)
		}
	}
}

// take returns the next n bytes.
func (m *pickleMachine) take(n uint64) ([]byte, error) {
	if n > uint64(len(m.code)-m.at) {
		return nil, damagedf("pickle: want %d bytes at byte %d, got %d: truncated or damaged", n, m.at, len(m.code)-m.at)
	}
	part := m.code[m.at:][:n]
	m.at += int(n)
	return part, nil
}

// number reads an unsigned number of n bytes.
func (m *pickleMachine) number(n uint64) (uint64, error) {
	part, err := m.take(n)
	var whole [8]byte
	copy(whole[:], part)
	return binary.LittleEndian.Uint64(whole[:]), err
}

// line reads up to the end of a line.
func (m *pickleMachine) line() (string, error) {
	n := slices.Index(m.code[m.at:], '\n')
	if n < 0 {
		return "", damagedf("pickle: want the end of a line after byte %d, got none", m.at)
	}
	part, err := m.take(uint64(n) + 1)
	return string(part[:n]), err
}

func (m *pickleMachine) push(v any) error {
	m.stack = append(m.stack, v)
	if d, ok := v.(*pickleDict); ok && d.values == nil {
		m.spent += 3
	}
	return m.spend()
}

// spend counts a value, and returns an error beyond limits that files of weights do not reach: they
// have fewer values for their length, and some thousand on the stack.
func (m *pickleMachine) spend() error {
	most := 1<<19 + len(m.code)/6
	if m.spent++; m.spent > most || len(m.stack) > 1<<16 {
		return errors.Errorf("want at most %d values in a pickle of %d bytes, and 65536 on the stack, got more", most, len(m.code))
	}
	return nil
}

func (m *pickleMachine) pop() (any, error) {
	last := len(m.stack) - 1
	if last < 0 {
		return nil, damagedf("pickle: want a value on the stack, got none")
	}
	v := m.stack[last]
	m.stack = m.stack[:last]
	return v, nil
}

// popMark returns the values above the last mark, up to the next push, and removes both.
func (m *pickleMachine) popMark() ([]any, error) {
	for i := len(m.stack) - 1; i >= 0; i-- {
		if _, ok := m.stack[i].(pickleMark); ok {
			values := m.stack[i+1:]
			m.stack = m.stack[:i]
			return values, nil
		}
	}
	return nil, damagedf("pickle: want a mark on the stack, got none")
}

// popN is like popMark, for n values.
func (m *pickleMachine) popN(n int) ([]any, error) {
	if n > len(m.stack) {
		return nil, damagedf("pickle: want %d values on the stack, got %d", n, len(m.stack))
	}
	values := m.stack[len(m.stack)-n:]
	m.stack = m.stack[:len(m.stack)-n]
	return values, nil
}

// step runs one instruction. The comments have their names in pickletools.
func (m *pickleMachine) step(op byte) error {
	switch op {
	case 0x80: // PROTO
		_, err := m.take(1)
		return err
	case 0x95: // FRAME
		_, err := m.take(8)
		return err
	case '(': // MARK
		return m.push(pickleMark{})
	case 'N': // NONE
		return m.push(nil)
	case 0x88, 0x89: // NEWTRUE, NEWFALSE
		return m.push(op == 0x88)
	case '}': // EMPTY_DICT
		return m.push(&pickleDict{})
	case ']', ')': // EMPTY_LIST, EMPTY_TUPLE
		return m.push(&pickleList{})
	case 'q', 'r', 0x94, 'h', 'j': // BINPUT, LONG_BINPUT, MEMOIZE, BINGET, LONG_BINGET
		return m.remember(op)
	case 'K', 'M', 'J', 0x8a, 'G': // BININT1, BININT2, BININT, LONG1, BINFLOAT
		return m.pushNumber(op)
	case 'X', 0x8c, 0x8d, 'B', 'C', 'U', 'T': // BINUNICODE, SHORT_BINUNICODE, BINUNICODE8, BINBYTES, SHORT_BINBYTES, SHORT_BINSTRING, BINSTRING
		return m.pushText(op)
	case 't', 0x85, 0x86, 0x87: // TUPLE, TUPLE1, TUPLE2, TUPLE3
		values := m.popMark
		if op != 't' {
			values = func() ([]any, error) { return m.popN(int(op - 0x84)) }
		}
		items, err := values()
		if err != nil {
			return err
		}
		return m.push(&pickleList{slices.Clone(items)})
	case 'a', 'e', 's', 'u': // APPEND, APPENDS, SETITEM, SETITEMS
		return m.fill(op)
	case 'c', 0x93, 'Q', 'R', 0x81, 'b': // GLOBAL, STACK_GLOBAL, BINPERSID, REDUCE, NEWOBJ, BUILD
		return m.object(op)
	}
	return errors.Errorf("want the instructions that torch.save writes, got %#02x", op)
}

// remember puts the last value into the memo, or pushes one of the memo.
func (m *pickleMachine) remember(op byte) error {
	index := uint64(len(m.memo))
	if op != 0x94 {
		var err error
		if index, err = m.number(map[byte]uint64{'q': 1, 'h': 1, 'r': 4, 'j': 4}[op]); err != nil {
			return err
		}
	}
	if op == 'h' || op == 'j' {
		v, ok := m.memo[index]
		if !ok {
			return damagedf("want value %d of the memo, got none", index)
		}
		return m.push(v)
	}
	v, err := m.pop()
	if err != nil {
		return err
	}
	m.memo[index] = v
	m.stack = append(m.stack, v)
	return m.spend()
}

func (m *pickleMachine) pushNumber(op byte) error {
	size := map[byte]uint64{'K': 1, 'M': 2, 'J': 4, 'G': 8}[op]
	if op == 0x8a {
		var err error
		if size, err = m.number(1); err != nil {
			return err
		}
		if size > 8 {
			return errors.Errorf("want integers of at most 8 bytes, got %d", size)
		}
	}
	n, err := m.number(size)
	switch {
	case err != nil:
		return err
	case op == 'G': // big-endian
		return m.push(math.Float64frombits(binary.BigEndian.Uint64(m.code[m.at-8:])))
	case op == 'J':
		return m.push(int64(int32(n)))
	case op == 0x8a && size > 0:
		free := 64 - 8*size
		return m.push(int64(n<<free) >> free)
	}
	return m.push(int64(n))
}

func (m *pickleMachine) pushText(op byte) error {
	n, err := m.number(map[byte]uint64{'X': 4, 'B': 4, 'T': 4, 0x8d: 8, 0x8c: 1, 'C': 1, 'U': 1}[op])
	if err != nil {
		return err
	}
	part, err := m.take(n)
	if err != nil {
		return err
	}
	if op == 'B' || op == 'C' {
		return m.push(part)
	}
	return m.push(string(part))
}

// fill adds to a list or a dict.
func (m *pickleMachine) fill(op byte) error {
	values := m.popMark
	if op == 'a' || op == 's' {
		n := map[byte]int{'a': 1, 's': 2}[op]
		values = func() ([]any, error) { return m.popN(n) }
	}
	items, err := values()
	if err != nil {
		return err
	}
	top, err := m.pop()
	if err != nil {
		return err
	}
	if list, ok := top.(*pickleList); ok && (op == 'a' || op == 'e') {
		list.items = append(list.items, items...)
		return m.push(list)
	}
	d, ok := top.(*pickleDict)
	if !ok || op == 'a' || op == 'e' || len(items)%2 != 0 {
		return errors.Errorf("want a list, or a dict with pairs, to add to, got %T with %d values", top, len(items))
	}
	for i := 0; i < len(items); i += 2 {
		if err := d.set(items[i], items[i+1]); err != nil {
			return err
		}
	}
	return m.push(d)
}

// object makes a class or an object.
func (m *pickleMachine) object(op byte) error {
	switch op {
	case 'c':
		module, err := m.line()
		if err != nil {
			return err
		}
		name, err := m.line()
		if err != nil {
			return err
		}
		return m.push(pickleClass{module, name})
	case 'Q':
		id, err := m.pop()
		if err != nil {
			return err
		}
		v, err := m.persistent(id)
		if err != nil {
			return err
		}
		return m.push(v)
	}
	pair, err := m.popN(2)
	if err != nil {
		return err
	}
	if op == 'b' { // what a state adds to a dict, such as the versions of modules, is left out
		if _, ok := pair[0].(*pickleDict); !ok {
			return errors.Errorf("want a state of a dict, got one of %T", pair[0])
		}
		return m.push(pair[0])
	}
	if op == 0x93 {
		module, first := pair[0].(string)
		name, second := pair[1].(string)
		if !first || !second {
			return errors.New("want a module and a name of a class")
		}
		return m.push(pickleClass{module, name})
	}
	class, ok := pair[0].(pickleClass)
	args, isList := pair[1].(*pickleList)
	if !ok || !isList {
		return errors.Errorf("want a class with arguments, got %T with %T", pair[0], pair[1])
	}
	v, err := m.call(class, args.items)
	if err != nil {
		return err
	}
	return m.push(v)
}
