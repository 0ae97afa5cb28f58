package main

import (
	"fmt"
	"strings"
)

// Go's assembler (1.26) knows no instruction of AMX, so they are written as bytes: VEX.128 in its
// three-byte form, map 0F38, W0 (Intel's manual, volume 2, section 2.3.5):
//
//	C4 | R X B mmmmm | W vvvv L pp | opcode | ModR/M | SIB | displacement
//
// R, X, B and vvvv are stored inverted; X and B are the fourth bits of the index and the base
// register. Tiles are numbered 0 to 7, so R is always 1.
const (
	ppNone = 0
	ppF3   = 2
	ppF2   = 3
)

// generalRegisters are the general registers in the order of their numbers in an encoding.
var generalRegisters = []string{"AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15"}

func generalRegister(name string) int {
	for i, r := range generalRegisters {
		if r == name {
			return i
		}
	}
	panic(fmt.Sprintf("asmgen: %s is no general register", name))
}

// encodeTiles encodes an instruction up to its opcode; v is the tile in vvvv, or -1.
func encodeTiles(pp int, opcode byte, v, index, base int) []byte {
	inverted := func(n int) byte { return byte(^n >> 3 & 1) }
	vvvv := byte(15)
	if v >= 0 {
		vvvv = byte(^v & 15)
	}
	return []byte{0xc4, 1<<7 | inverted(index)<<6 | inverted(base)<<5 | 2, vvvv<<3 | byte(pp), opcode}
}

// tileOperands encodes an instruction whose operands are tiles only.
func tileOperands(pp int, opcode byte, reg, rm, v int) []byte {
	return append(encodeTiles(pp, opcode, v, 0, 0), byte(3<<6|reg<<3|rm))
}

// tileMemory encodes an instruction with a tile and rows in memory: the first row begins some bytes
// after the address in base, and the register index holds the bytes from row to row.
func tileMemory(pp, tile int, base, index string, bytes int) []byte {
	b, x := generalRegister(base), generalRegister(index)
	code := append(encodeTiles(pp, 0x4b, -1, x, b), byte(2<<6|tile<<3|4), byte(x&7<<3|b&7))
	return append(code, byte(bytes), byte(bytes>>8), byte(bytes>>16), byte(bytes>>24))
}

// asWords returns a line of assembly with the bytes of an instruction, and the instruction, with
// its destination last, in a comment.
func asWords(code []byte, instruction string) string {
	var line strings.Builder
	line.WriteByte('\t')
	for ; len(code) >= 4; code = code[4:] {
		fmt.Fprintf(&line, "LONG $%#08x; ", uint32(code[0])|uint32(code[1])<<8|uint32(code[2])<<16|uint32(code[3])<<24)
	}
	for ; len(code) > 0; code = code[1:] {
		fmt.Fprintf(&line, "BYTE $%#02x; ", code[0])
	}
	return strings.TrimSuffix(line.String(), "; ") + " // " + instruction
}

// loadTileConfig writes LDTILECFG: it sets the shapes of all tiles from 64 bytes, and clears them.
func loadTileConfig(base string) string {
	b := generalRegister(base)
	return asWords(append(encodeTiles(ppNone, 0x49, -1, 0, b), byte(b&7)), fmt.Sprintf("LDTILECFG (%s)", base))
}

func releaseTiles() string { return asWords(tileOperands(ppNone, 0x49, 0, 0, -1), "TILERELEASE") }

func clearTile(t int) string {
	return asWords(tileOperands(ppF2, 0x49, t, 0, -1), fmt.Sprintf("TILEZERO T%d", t))
}

func loadTile(t int, base, index string, bytes int) string {
	return asWords(tileMemory(ppF2, t, base, index, bytes), fmt.Sprintf("TILELOADD %d(%s)(%s*1), T%d", bytes, base, index, t))
}

func storeTile(t int, base, index string, bytes int) string {
	return asWords(tileMemory(ppF3, t, base, index, bytes), fmt.Sprintf("TILESTORED T%d, %d(%s)(%s*1)", t, bytes, base, index))
}

// multiplyTiles writes TDPBF16PS: sum += a b, for pairs of bfloat16 and sums in float32.
func multiplyTiles(b, a, sum int) string {
	return asWords(tileOperands(ppF3, 0x5c, sum, a, b), fmt.Sprintf("TDPBF16PS T%d, T%d, T%d", b, a, sum))
}

// roundTwo writes VCVTNE2PS2BF16: the register to gets the bfloat16 of 16 float32 in memory and, in
// its upper half, those of the register high. All registers are among the first eight.
func roundTwo(base string, high, to int) string {
	return asWords(encodeRoundTwo(generalRegister(base), high, to), fmt.Sprintf("VCVTNE2PS2BF16 (%s), Z%d, Z%d", base, high, to))
}

// roundPair does the same for 16 float32 in a register.
func roundPair(low, high, to int) string {
	return asWords(encodeRoundTwo(3<<6|low, high, to), fmt.Sprintf("VCVTNE2PS2BF16 Z%d, Z%d, Z%d", low, high, to))
}

// encodeRoundTwo encodes EVEX.512.F2.0F38.W0 72 /r; rm holds mode and register of the last operand.
func encodeRoundTwo(rm, high, to int) []byte {
	return []byte{0x62, 0xf2, byte((^high&15)<<3 | 1<<2 | ppF2), 0x48, 0x72, byte(to<<3 | rm)}
}
