#include "go_asm.h"
#include "textflag.h"

// The rows' products with 32 columns are kept in two registers of 16 sums each. In each round
// two quads of a row, as two times four bytes in all lanes, meet the weights of all columns.

// R8, R9 and R10 are three, six and nine rows behind SI; DX is a row's length.
#define POINTERS \
	LEAQ (SI)(DX*2), R8 \
	ADDQ DX, R8         \
	LEAQ (R8)(DX*2), R9 \
	ADDQ DX, R9         \
	LEAQ (R9)(DX*2), R10 \
	ADDQ DX, R10

#define WEIGHTS \
	VMOVDQU64 (BX), Z24    \
	VMOVDQU64 64(BX), Z25  \
	VMOVDQU64 128(BX), Z28 \
	VMOVDQU64 192(BX), Z29 \
	ADDQ      $256, BX

#define ROW(first, second, s0, s1) \
	VPBROADCASTD first, Z26  \
	VPBROADCASTD second, Z27 \
	VPDPBUSD     Z24, Z26, s0 \
	VPDPBUSD     Z25, Z26, s1 \
	VPDPBUSD     Z28, Z27, s0 \
	VPDPBUSD     Z29, Z27, s1

// STORE makes floats of the sums of the row that DI, R11 and R12 are at.
#define STORE(s0, s1) \
	VPBROADCASTD (R12), Z24     \
	VPMULLD      (R13), Z24, Z25 \
	VPMULLD      64(R13), Z24, Z24 \
	VPSUBD       Z25, s0, s0    \
	VPSUBD       Z24, s1, s1    \
	VCVTDQ2PS    s0, s0         \
	VCVTDQ2PS    s1, s1         \
	VBROADCASTSS (R11), Z24     \
	VMULPS       (R14), Z24, Z25 \
	VMULPS       64(R14), Z24, Z24 \
	VMULPS       Z25, s0, s0    \
	VMULPS       Z24, s1, s1    \
	VADDPS       (R15), s0, s0  \
	VADDPS       64(R15), s1, s1 \
	VMOVUPS      s0, (DI)       \
	VMOVUPS      s1, 64(DI)     \
	ADDQ         panel_outStride(AX), DI \
	ADDQ         $4, R11        \
	ADDQ         $4, R12

#define ZERO(s0, s1) \
	VPXORD s0, s0, s0 \
	VPXORD s1, s1, s1

// func productVNNI(p *panel)
//
// Rows go twelve, then six, two and one at a time.
TEXT ·productVNNI(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), AX
	MOVQ panel_a(AX), SI
	MOVQ panel_stride(AX), DX
	MOVQ panel_out(AX), DI
	MOVQ panel_rowScale(AX), R11
	MOVQ panel_rowZero(AX), R12
	MOVQ panel_sums(AX), R13
	MOVQ panel_scale(AX), R14
	MOVQ panel_bias(AX), R15

rows12:
	CMPQ panel_rows(AX), $12
	JLT  rows6
	POINTERS
	ZERO(Z0, Z1)
	ZERO(Z2, Z3)
	ZERO(Z4, Z5)
	ZERO(Z6, Z7)
	ZERO(Z8, Z9)
	ZERO(Z10, Z11)
	ZERO(Z12, Z13)
	ZERO(Z14, Z15)
	ZERO(Z16, Z17)
	ZERO(Z18, Z19)
	ZERO(Z20, Z21)
	ZERO(Z22, Z23)
	MOVQ panel_weights(AX), BX
	MOVQ panel_steps(AX), CX

steps12:
	WEIGHTS
	ROW((SI), 4(SI), Z0, Z1)
	ROW((SI)(DX*1), 4(SI)(DX*1), Z2, Z3)
	ROW((SI)(DX*2), 4(SI)(DX*2), Z4, Z5)
	ROW((R8), 4(R8), Z6, Z7)
	ROW((R8)(DX*1), 4(R8)(DX*1), Z8, Z9)
	ROW((R8)(DX*2), 4(R8)(DX*2), Z10, Z11)
	ROW((R9), 4(R9), Z12, Z13)
	ROW((R9)(DX*1), 4(R9)(DX*1), Z14, Z15)
	ROW((R9)(DX*2), 4(R9)(DX*2), Z16, Z17)
	ROW((R10), 4(R10), Z18, Z19)
	ROW((R10)(DX*1), 4(R10)(DX*1), Z20, Z21)
	ROW((R10)(DX*2), 4(R10)(DX*2), Z22, Z23)
	ADDQ $8, SI
	ADDQ $8, R8
	ADDQ $8, R9
	ADDQ $8, R10
	DECQ CX
	JNZ  steps12

	STORE(Z0, Z1)
	STORE(Z2, Z3)
	STORE(Z4, Z5)
	STORE(Z6, Z7)
	STORE(Z8, Z9)
	STORE(Z10, Z11)
	STORE(Z12, Z13)
	STORE(Z14, Z15)
	STORE(Z16, Z17)
	STORE(Z18, Z19)
	STORE(Z20, Z21)
	STORE(Z22, Z23)
	MOVQ panel_steps(AX), CX
	SHLQ $3, CX
	SUBQ CX, R10
	LEAQ (R10)(DX*2), SI
	ADDQ DX, SI
	SUBQ $12, panel_rows(AX)
	JMP  rows12

rows6:
	CMPQ panel_rows(AX), $6
	JLT  rows2
	POINTERS
	ZERO(Z0, Z1)
	ZERO(Z2, Z3)
	ZERO(Z4, Z5)
	ZERO(Z6, Z7)
	ZERO(Z8, Z9)
	ZERO(Z10, Z11)
	MOVQ panel_weights(AX), BX
	MOVQ panel_steps(AX), CX

steps6:
	WEIGHTS
	ROW((SI), 4(SI), Z0, Z1)
	ROW((SI)(DX*1), 4(SI)(DX*1), Z2, Z3)
	ROW((SI)(DX*2), 4(SI)(DX*2), Z4, Z5)
	ROW((R8), 4(R8), Z6, Z7)
	ROW((R8)(DX*1), 4(R8)(DX*1), Z8, Z9)
	ROW((R8)(DX*2), 4(R8)(DX*2), Z10, Z11)
	ADDQ $8, SI
	ADDQ $8, R8
	DECQ CX
	JNZ  steps6

	STORE(Z0, Z1)
	STORE(Z2, Z3)
	STORE(Z4, Z5)
	STORE(Z6, Z7)
	STORE(Z8, Z9)
	STORE(Z10, Z11)
	MOVQ R9, SI
	SUBQ $6, panel_rows(AX)
	JMP  rows6

rows2:
	CMPQ panel_rows(AX), $2
	JLT  rows1
	ZERO(Z0, Z1)
	ZERO(Z2, Z3)
	MOVQ panel_weights(AX), BX
	MOVQ panel_steps(AX), CX
	LEAQ (SI)(DX*2), R9

steps2:
	WEIGHTS
	ROW((SI), 4(SI), Z0, Z1)
	ROW((SI)(DX*1), 4(SI)(DX*1), Z2, Z3)
	ADDQ $8, SI
	DECQ CX
	JNZ  steps2

	STORE(Z0, Z1)
	STORE(Z2, Z3)
	MOVQ R9, SI
	SUBQ $2, panel_rows(AX)
	JMP  rows2

rows1:
	CMPQ panel_rows(AX), $1
	JLT  done
	ZERO(Z0, Z1)
	MOVQ panel_weights(AX), BX
	MOVQ panel_steps(AX), CX

steps1:
	WEIGHTS
	ROW((SI), 4(SI), Z0, Z1)
	ADDQ $8, SI
	DECQ CX
	JNZ  steps1

	STORE(Z0, Z1)

done:
	VZEROUPPER
	RET

// A quad is made signed by taking 128 off. Its magnitudes, at most 128, are multiplied with
// the weights, which are given its signs: the sum of two fits 16 bits.

// QUAD leaves the signed quad in q and its magnitudes in m.
#define QUAD(from, q, m) \
	VPBROADCASTD from, q \
	VPXOR        Y15, q, q \
	VPABSB       q, m

#define PRODUCT(q, m, s) \
	VPSIGNB    q, Y12, Y13  \
	VPMADDUBSW Y13, m, Y13  \
	VPMADDWD   Y14, Y13, Y13 \
	VPADDD     Y13, s, s

// STORE8 makes floats of eight sums of a row at a column's offset. R9 is the row's zero, less
// the 128 that the quads have less.
#define STORE8(s, offset) \
	VMOVD        R9, X12           \
	VPBROADCASTD X12, Y12          \
	VPMULLD      offset(R13), Y12, Y12 \
	VPSUBD       Y12, s, s         \
	VCVTDQ2PS    s, s              \
	VBROADCASTSS (R11), Y12        \
	VMULPS       offset(R14), Y12, Y12 \
	VMULPS       Y12, s, s         \
	VADDPS       offset(R15), s, s \
	VMOVUPS      s, offset(DI)

#define STORE32(s0, s1, s2, s3) \
	MOVL (R12), R9 \
	SUBL $128, R9  \
	STORE8(s0, 0)  \
	STORE8(s1, 32) \
	STORE8(s2, 64) \
	STORE8(s3, 96) \
	ADDQ panel_outStride(AX), DI \
	ADDQ $4, R11   \
	ADDQ $4, R12

// func productAVX2(p *panel)
//
// Rows go two at a time, a last one alone.
TEXT ·productAVX2(SB), NOSPLIT, $0-8
	MOVQ p+0(FP), AX
	MOVQ panel_a(AX), SI
	MOVQ panel_stride(AX), DX
	MOVQ panel_out(AX), DI
	MOVQ panel_rowScale(AX), R11
	MOVQ panel_rowZero(AX), R12
	MOVQ panel_sums(AX), R13
	MOVQ panel_scale(AX), R14
	MOVQ panel_bias(AX), R15
	MOVL $0x80808080, CX
	VMOVD CX, X15
	VPBROADCASTD X15, Y15
	MOVL $0x00010001, CX
	VMOVD CX, X14
	VPBROADCASTD X14, Y14

rows2:
	CMPQ  panel_rows(AX), $2
	JLT   rows1
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	VPXOR Y4, Y4, Y4
	VPXOR Y5, Y5, Y5
	VPXOR Y6, Y6, Y6
	VPXOR Y7, Y7, Y7
	MOVQ  panel_weights(AX), BX
	MOVQ  panel_steps(AX), CX
	SHLQ  $1, CX
	LEAQ  (SI)(DX*2), R10

quads2:
	QUAD((SI), Y8, Y10)
	QUAD((SI)(DX*1), Y9, Y11)
	VMOVDQU (BX), Y12
	PRODUCT(Y8, Y10, Y0)
	PRODUCT(Y9, Y11, Y4)
	VMOVDQU 32(BX), Y12
	PRODUCT(Y8, Y10, Y1)
	PRODUCT(Y9, Y11, Y5)
	VMOVDQU 64(BX), Y12
	PRODUCT(Y8, Y10, Y2)
	PRODUCT(Y9, Y11, Y6)
	VMOVDQU 96(BX), Y12
	PRODUCT(Y8, Y10, Y3)
	PRODUCT(Y9, Y11, Y7)
	ADDQ $4, SI
	ADDQ $128, BX
	DECQ CX
	JNZ  quads2

	STORE32(Y0, Y1, Y2, Y3)
	STORE32(Y4, Y5, Y6, Y7)
	MOVQ R10, SI
	SUBQ $2, panel_rows(AX)
	JMP  rows2

rows1:
	CMPQ  panel_rows(AX), $1
	JLT   done
	VPXOR Y0, Y0, Y0
	VPXOR Y1, Y1, Y1
	VPXOR Y2, Y2, Y2
	VPXOR Y3, Y3, Y3
	MOVQ  panel_weights(AX), BX
	MOVQ  panel_steps(AX), CX
	SHLQ  $1, CX

quads1:
	QUAD((SI), Y8, Y10)
	VMOVDQU (BX), Y12
	PRODUCT(Y8, Y10, Y0)
	VMOVDQU 32(BX), Y12
	PRODUCT(Y8, Y10, Y1)
	VMOVDQU 64(BX), Y12
	PRODUCT(Y8, Y10, Y2)
	VMOVDQU 96(BX), Y12
	PRODUCT(Y8, Y10, Y3)
	ADDQ $4, SI
	ADDQ $128, BX
	DECQ CX
	JNZ  quads1

	STORE32(Y0, Y1, Y2, Y3)

done:
	VZEROUPPER
	RET
