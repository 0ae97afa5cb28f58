#include "textflag.h"

// func copyShortRows(dst unsafe.Pointer, ds int, src unsafe.Pointer, ss, size, rows int)
TEXT ·copyShortRows(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), DI
	MOVQ ds+8(FP), R8
	MOVQ src+16(FP), SI
	MOVQ ss+24(FP), R9
	MOVQ size+32(FP), BX
	MOVQ rows+40(FP), CX
row:
	XORL AX, AX
step:
	MOVUPS (SI)(AX*1), X0
	MOVUPS X0, (DI)(AX*1)
	ADDQ   $16, AX
	CMPQ   AX, BX
	JLT    step
	ADDQ   R9, SI
	ADDQ   R8, DI
	DECQ   CX
	JNZ    row
	RET
