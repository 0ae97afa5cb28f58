#include "textflag.h"

// func savedStates() uint32
TEXT ·savedStates(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, ret+0(FP)
	RET
