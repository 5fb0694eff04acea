#include "textflag.h"

// Eight floats at a time, four registers in a round. Sums go into two registers, lanes 0 to 7
// and 8 to 15 of the generic kernel, and no multiplication is fused with an addition.

DATA order<>+0(SB)/8, $0x0000000400000000
DATA order<>+8(SB)/8, $0x0000000500000001
DATA order<>+16(SB)/8, $0x0000000600000002
DATA order<>+24(SB)/8, $0x0000000700000003
GLOBL order<>(SB), RODATA|NOPTR, $32

DATA magnitude<>+0(SB)/4, $0x7fffffff
GLOBL magnitude<>(SB), RODATA|NOPTR, $4

DATA leastGroup<>+0(SB)/4, $1e-30
GLOBL leastGroup<>(SB), RODATA|NOPTR, $4

DATA top<>+0(SB)/4, $127.0
GLOBL top<>(SB), RODATA|NOPTR, $4

DATA epsilon<>+0(SB)/4, $1e-12
GLOBL epsilon<>(SB), RODATA|NOPTR, $4

DATA one<>+0(SB)/4, $1.0
GLOBL one<>(SB), RODATA|NOPTR, $4

DATA whole<>+0(SB)/4, $255.0
GLOBL whole<>(SB), RODATA|NOPTR, $4

DATA half<>+0(SB)/4, $0.5
GLOBL half<>(SB), RODATA|NOPTR, $4

DATA clamp<>+0(SB)/4, $4.5
DATA clamp<>+4(SB)/4, $-4.5
DATA clamp<>+8(SB)/4, $-30.0
GLOBL clamp<>(SB), RODATA|NOPTR, $12

DATA gelu<>+0(SB)/4, $0.3987126052379608
DATA gelu<>+4(SB)/4, $-0.06598465889692307
DATA gelu<>+8(SB)/4, $0.009585204534232616
DATA gelu<>+12(SB)/4, $-0.0010375918354839087
DATA gelu<>+16(SB)/4, $8.142524166032672e-05
DATA gelu<>+20(SB)/4, $-4.451736003829865e-06
DATA gelu<>+24(SB)/4, $1.5910003980934562e-07
DATA gelu<>+28(SB)/4, $-3.3146694278229916e-09
DATA gelu<>+32(SB)/4, $3.0364287473272356e-11
GLOBL gelu<>(SB), RODATA|NOPTR, $36

DATA power<>+0(SB)/4, $0.693282961845398
DATA power<>+4(SB)/4, $0.2422109693288803
DATA power<>+8(SB)/4, $0.055008627474308014
GLOBL power<>(SB), RODATA|NOPTR, $12

// FOLD leaves the result of op over the lanes of y, whose lower half is x, in x. It uses t.
#define FOLD(op, y, x, t) \
	VEXTRACTF128 $1, y, t    \
	op           t, x, x     \
	VPERMILPS    $0x4e, x, t \
	op           t, x, x     \
	VPERMILPS    $0xb1, x, t \
	op           t, x, x

// func extentAVX2(x []float32) (low, high float32)
TEXT ·extentAVX2(SB), NOSPLIT, $0-32
	MOVQ   x_base+0(FP), SI
	MOVQ   x_len+8(FP), CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3

loop:
	VMOVUPS (SI), Y4
	VMOVUPS 32(SI), Y5
	VMOVUPS 64(SI), Y6
	VMOVUPS 96(SI), Y7
	VMINPS  Y4, Y0, Y0
	VMINPS  Y5, Y1, Y1
	VMAXPS  Y4, Y2, Y2
	VMAXPS  Y5, Y3, Y3
	VMINPS  Y6, Y0, Y0
	VMINPS  Y7, Y1, Y1
	VMAXPS  Y6, Y2, Y2
	VMAXPS  Y7, Y3, Y3
	ADDQ    $128, SI
	SUBQ    $32, CX
	JNZ     loop

	VMINPS Y1, Y0, Y0
	VMAXPS Y3, Y2, Y2
	FOLD(VMINPS, Y0, X0, X1)
	FOLD(VMAXPS, Y2, X2, X3)
	VMOVSS X0, low+24(FP)
	VMOVSS X2, high+28(FP)
	VZEROUPPER
	RET

// func toBytesAVX2(dst []uint8, x []float32, factor float32, zero int32)
TEXT ·toBytesAVX2(SB), NOSPLIT, $0-56
	MOVQ         dst_base+0(FP), DI
	MOVQ         x_base+24(FP), SI
	MOVQ         x_len+32(FP), CX
	VBROADCASTSS factor+48(FP), Y14
	MOVL         zero+52(FP), AX
	VMOVD        AX, X15
	VPBROADCASTD X15, Y15
	VMOVDQU      order<>(SB), Y13

loop:
	VMULPS     (SI), Y14, Y0
	VMULPS     32(SI), Y14, Y1
	VMULPS     64(SI), Y14, Y2
	VMULPS     96(SI), Y14, Y3
	VCVTPS2DQ  Y0, Y0
	VCVTPS2DQ  Y1, Y1
	VCVTPS2DQ  Y2, Y2
	VCVTPS2DQ  Y3, Y3
	VPADDD     Y15, Y0, Y0
	VPADDD     Y15, Y1, Y1
	VPADDD     Y15, Y2, Y2
	VPADDD     Y15, Y3, Y3
	VPACKSSDW  Y1, Y0, Y0
	VPACKSSDW  Y3, Y2, Y2
	VPACKUSWB  Y2, Y0, Y0
	VPERMD     Y0, Y13, Y0
	VMOVDQU    Y0, (DI)
	ADDQ       $128, SI
	ADDQ       $32, DI
	SUBQ       $32, CX
	JNZ        loop

	VZEROUPPER
	RET

// func groupsAVX2(dst []int8, scales, x []float32)
TEXT ·groupsAVX2(SB), NOSPLIT, $0-72
	MOVQ         dst_base+0(FP), DI
	MOVQ         scales_base+24(FP), BX
	MOVQ         scales_len+32(FP), CX
	MOVQ         x_base+48(FP), SI
	VBROADCASTSS magnitude<>(SB), Y15
	VMOVSS       leastGroup<>(SB), X14
	VMOVDQU      order<>(SB), Y13
	VMOVSS       top<>(SB), X12

loop:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VMOVUPS 64(SI), Y2
	VMOVUPS 96(SI), Y3
	VANDPS  Y15, Y0, Y4
	VANDPS  Y15, Y1, Y5
	VANDPS  Y15, Y2, Y6
	VANDPS  Y15, Y3, Y7
	VMAXPS  Y5, Y4, Y4
	VMAXPS  Y7, Y6, Y6
	VMAXPS  Y6, Y4, Y4
	FOLD(VMAXPS, Y4, X4, X5)
	VMAXSS  X14, X4, X4
	VDIVSS  X12, X4, X5
	VMOVSS  X5, (BX)
	VDIVSS  X4, X12, X4
	VBROADCASTSS X4, Y4
	VMULPS  Y4, Y0, Y0
	VMULPS  Y4, Y1, Y1
	VMULPS  Y4, Y2, Y2
	VMULPS  Y4, Y3, Y3
	VCVTPS2DQ Y0, Y0
	VCVTPS2DQ Y1, Y1
	VCVTPS2DQ Y2, Y2
	VCVTPS2DQ Y3, Y3
	VPACKSSDW Y1, Y0, Y0
	VPACKSSDW Y3, Y2, Y2
	VPACKSSWB Y2, Y0, Y0
	VPERMD  Y0, Y13, Y0
	VMOVDQU Y0, (DI)
	ADDQ    $128, SI
	ADDQ    $32, DI
	ADDQ    $4, BX
	DECQ    CX
	JNZ     loop

	VZEROUPPER
	RET

// func normaliseAVX2(x, y, restore, gamma, beta []float32)
TEXT ·normaliseAVX2(SB), NOSPLIT, $0-120
	MOVQ x_base+0(FP), DI
	MOVQ x_len+8(FP), CX
	MOVQ y_base+24(FP), SI
	MOVQ restore_base+48(FP), R10
	MOVQ gamma_base+72(FP), R8
	MOVQ beta_base+96(FP), R9
	VCVTSI2SSQ CX, X15, X15
	SHLQ $2, CX
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	XORQ AX, AX

add:
	VMOVUPS (DI)(AX*1), Y0
	VMOVUPS 32(DI)(AX*1), Y1
	VMULPS  (R10)(AX*1), Y0, Y0
	VMULPS  32(R10)(AX*1), Y1, Y1
	VADDPS  (SI)(AX*1), Y0, Y0
	VADDPS  32(SI)(AX*1), Y1, Y1
	VMOVUPS Y0, (DI)(AX*1)
	VMOVUPS Y1, 32(DI)(AX*1)
	VADDPS  Y0, Y8, Y8
	VADDPS  Y1, Y9, Y9
	ADDQ    $64, AX
	CMPQ    AX, CX
	JLT     add

	VADDPS Y9, Y8, Y8
	FOLD(VADDPS, Y8, X8, X9)
	VDIVSS X15, X8, X8
	VBROADCASTSS X8, Y14
	VXORPS Y8, Y8, Y8
	VXORPS Y9, Y9, Y9
	XORQ AX, AX

square:
	VMOVUPS (DI)(AX*1), Y0
	VMOVUPS 32(DI)(AX*1), Y1
	VSUBPS  Y14, Y0, Y0
	VSUBPS  Y14, Y1, Y1
	VMOVUPS Y0, (DI)(AX*1)
	VMOVUPS Y1, 32(DI)(AX*1)
	VMULPS  Y0, Y0, Y0
	VMULPS  Y1, Y1, Y1
	VADDPS  Y0, Y8, Y8
	VADDPS  Y1, Y9, Y9
	ADDQ    $64, AX
	CMPQ    AX, CX
	JLT     square

	VADDPS Y9, Y8, Y8
	FOLD(VADDPS, Y8, X8, X9)
	VDIVSS X15, X8, X8
	VADDSS epsilon<>(SB), X8, X8
	VSQRTSS X8, X8, X8
	VMOVSS one<>(SB), X9
	VDIVSS X8, X9, X8
	VBROADCASTSS X8, Y14
	XORQ AX, AX

scale:
	VMULPS  (DI)(AX*1), Y14, Y0
	VMULPS  32(DI)(AX*1), Y14, Y1
	VMULPS  (R8)(AX*1), Y0, Y0
	VMULPS  32(R8)(AX*1), Y1, Y1
	VADDPS  (R9)(AX*1), Y0, Y0
	VADDPS  32(R9)(AX*1), Y1, Y1
	VMOVUPS Y0, (DI)(AX*1)
	VMOVUPS Y1, 32(DI)(AX*1)
	ADDQ    $64, AX
	CMPQ    AX, CX
	JLT     scale

	VZEROUPPER
	RET

// TERM does a step of Horner's rule for two registers.
#define TERM(at) \
	VBROADCASTSS gelu<>+at(SB), Y15 \
	VMULPS       Y4, Y6, Y6  \
	VMULPS       Y5, Y7, Y7  \
	VMULPS       Y10, Y12, Y12  \
	VMULPS       Y11, Y13, Y13  \
	VADDPS       Y15, Y6, Y6 \
	VADDPS       Y15, Y7, Y7 \
	VADDPS       Y15, Y12, Y12 \
	VADDPS       Y15, Y13, Y13

// func geluAVX2(x []float32)
TEXT ·geluAVX2(SB), NOSPLIT, $0-24
	MOVQ x_base+0(FP), SI
	MOVQ x_len+8(FP), CX

loop:
	VBROADCASTSS clamp<>+0(SB), Y14
	VBROADCASTSS clamp<>+4(SB), Y15
	VMINPS (SI), Y14, Y0
	VMINPS 32(SI), Y14, Y1
	VMINPS 64(SI), Y14, Y2
	VMINPS 96(SI), Y14, Y3
	VMAXPS Y15, Y0, Y0
	VMAXPS Y15, Y1, Y1
	VMAXPS Y15, Y2, Y2
	VMAXPS Y15, Y3, Y3
	VMULPS Y0, Y0, Y4
	VMULPS Y1, Y1, Y5
	VMULPS Y2, Y2, Y10
	VMULPS Y3, Y3, Y11
	VBROADCASTSS gelu<>+32(SB), Y6
	VMOVAPS Y6, Y7
	VMOVAPS Y6, Y12
	VMOVAPS Y6, Y13
	TERM(28)
	TERM(24)
	TERM(20)
	TERM(16)
	TERM(12)
	TERM(8)
	TERM(4)
	TERM(0)
	VBROADCASTSS half<>(SB), Y15
	VMULPS Y0, Y6, Y6
	VMULPS Y1, Y7, Y7
	VMULPS Y2, Y12, Y12
	VMULPS Y3, Y13, Y13
	VADDPS Y15, Y6, Y6
	VADDPS Y15, Y7, Y7
	VADDPS Y15, Y12, Y12
	VADDPS Y15, Y13, Y13
	VMULPS (SI), Y6, Y6
	VMULPS 32(SI), Y7, Y7
	VMULPS 64(SI), Y12, Y12
	VMULPS 96(SI), Y13, Y13
	VMOVUPS Y6, (SI)
	VMOVUPS Y7, 32(SI)
	VMOVUPS Y12, 64(SI)
	VMOVUPS Y13, 96(SI)
	ADDQ $128, SI
	SUBQ $32, CX
	JNZ  loop

	VZEROUPPER
	RET

// POWER replaces scores in s by two to the power of them less the greatest, using n and p, and
// leaves the result in p.
#define POWER(from, s, n, p) \
	VMOVUPS   from, s     \
	VSUBPS    Y15, s, s   \
	VMAXPS    Y14, s, s   \
	VROUNDPS  $0, s, n    \
	VSUBPS    n, s, s     \
	VMULPS    Y13, s, p   \
	VADDPS    Y12, p, p   \
	VMULPS    s, p, p     \
	VADDPS    Y11, p, p   \
	VMULPS    s, p, p     \
	VADDPS    Y10, p, p   \
	VCVTPS2DQ n, n        \
	VPSLLD    $23, n, n   \
	VPADDD    n, p, p

// func softmaxAVX2(dst []uint8, scores []float32) (sum int32)
TEXT ·softmaxAVX2(SB), NOSPLIT, $0-52
	MOVQ         dst_base+0(FP), DI
	MOVQ         scores_base+24(FP), SI
	MOVQ         scores_len+32(FP), CX
	VMOVUPS      (SI), Y0
	VMOVAPS      Y0, Y1
	MOVQ         SI, AX
	MOVQ         CX, BX

greatest:
	VMAXPS (AX), Y0, Y0
	VMAXPS 32(AX), Y1, Y1
	VMAXPS 64(AX), Y0, Y0
	VMAXPS 96(AX), Y1, Y1
	ADDQ   $128, AX
	SUBQ   $32, BX
	JNZ    greatest

	VMAXPS       Y1, Y0, Y0
	FOLD(VMAXPS, Y0, X0, X1)
	VBROADCASTSS X0, Y15
	VBROADCASTSS clamp<>+8(SB), Y14
	VBROADCASTSS power<>+8(SB), Y13
	VBROADCASTSS power<>+4(SB), Y12
	VBROADCASTSS power<>+0(SB), Y11
	VBROADCASTSS one<>(SB), Y10
	VBROADCASTSS whole<>(SB), Y9
	VPXOR        Y8, Y8, Y8

loop:
	POWER(0(SI), Y4, Y5, Y0)
	POWER(32(SI), Y6, Y7, Y1)
	POWER(64(SI), Y4, Y5, Y2)
	POWER(96(SI), Y6, Y7, Y3)
	VMULPS    Y9, Y0, Y0
	VMULPS    Y9, Y1, Y1
	VMULPS    Y9, Y2, Y2
	VMULPS    Y9, Y3, Y3
	VCVTPS2DQ Y0, Y0
	VCVTPS2DQ Y1, Y1
	VCVTPS2DQ Y2, Y2
	VCVTPS2DQ Y3, Y3
	VPACKSSDW Y1, Y0, Y0
	VPACKSSDW Y3, Y2, Y2
	VPACKUSWB Y2, Y0, Y0
	VMOVDQU   order<>(SB), Y4
	VPERMD    Y0, Y4, Y0
	VMOVDQU   Y0, (DI)
	VPXOR     Y4, Y4, Y4
	VPSADBW   Y4, Y0, Y0
	VPADDQ    Y0, Y8, Y8
	ADDQ      $128, SI
	ADDQ      $32, DI
	SUBQ      $32, CX
	JNZ       loop

	FOLD(VPADDD, Y8, X8, X9)
	VMOVD      X8, AX
	MOVL       AX, sum+48(FP)
	VZEROUPPER
	RET
