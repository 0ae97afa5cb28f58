#include "textflag.h"

// func vendor() uint32
TEXT ·vendor(SB), NOSPLIT, $0-4
	XORL AX, AX
	XORL CX, CX
	CPUID
	MOVL CX, ret+0(FP)
	RET
