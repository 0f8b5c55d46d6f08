/* The exported symbols of OpenSHMEM, each a jump through its `struct entry`.
 *
 * The names of a preloaded library precede all others, but the program may have an OpenSHMEM of its
 * own, or functions that merely have such names. So the first call of a name looks for another
 * definition in the process, and if there is one jumps there from then on; else it jumps to ours.
 *
 * The other definition may have any parameters and results, so the jump must pass on every register
 * and the stack as the caller left them. C cannot express that: compilers turn a call into a jump
 * only when they optimise, and a forwarding function with declared parameters would lose arguments
 * on the stack, such as the long double of shmem_longdouble_p(). Hence assembly.
 */
#include "pmpi_wrap/host.h"
#include "shmem/shmem.h"

struct entry {
    dispatch_fn *target; /* at first the stub that calls open_entry() */
    dispatch_fn *const ours;
    const char *const name;
};

/* Called by assembly with the arguments of the OpenSHMEM call saved: where to jump, now and later.
 */
dispatch_fn *open_entry(struct entry *entry);

COLD dispatch_fn *open_entry(struct entry *entry)
{
    const struct abi *abi = host_abi();
    if (abi)
        shmem_host = abi->shmem;
    dispatch_fn *theirs = (dispatch_fn *)host_next(entry->name);
    return entry->target = theirs ? theirs : entry->ours;
}

#define CALL(call)                 \
    void first_##call(void);       \
    extern struct entry at_##call; \
    struct entry at_##call = {first_##call, (dispatch_fn *)accel_##call, #call};
#include "shmem/calls.def"
#undef CALL

/* Per name: the exported symbol, which jumps through the first field of its entry, and first_NAME,
 * which passes the address of the entry in a scratch register to first_call. That saves the
 * registers of arguments, calls open_entry(), restores them and jumps to its result. */
#if defined(__x86_64__)

#ifdef __CET__
#define LANDING "endbr64\n"
#else
#define LANDING
#endif
#define EXPORTED(call) LANDING "jmp *at_" #call "(%rip)\n"
#define FIRST(call)    LANDING "lea at_" #call "(%rip), %r11\njmp first_call\n"
/* %rax: the number of vector registers in a call with variable arguments; %r10: the static chain.
 */
#define FIRST_CALL                                                                   \
    "push %rbp\n.cfi_def_cfa_offset 16\n.cfi_offset %rbp, -16\nmov %rsp, %rbp\n"     \
    ".cfi_def_cfa_register %rbp\nsub $192, %rsp\n"                                   \
    "mov %rdi, (%rsp)\nmov %rsi, 8(%rsp)\nmov %rdx, 16(%rsp)\nmov %rcx, 24(%rsp)\n"  \
    "mov %r8, 32(%rsp)\nmov %r9, 40(%rsp)\nmov %rax, 48(%rsp)\nmov %r10, 56(%rsp)\n" \
    "movaps %xmm0, 64(%rsp)\nmovaps %xmm1, 80(%rsp)\nmovaps %xmm2, 96(%rsp)\n"       \
    "movaps %xmm3, 112(%rsp)\nmovaps %xmm4, 128(%rsp)\nmovaps %xmm5, 144(%rsp)\n"    \
    "movaps %xmm6, 160(%rsp)\nmovaps %xmm7, 176(%rsp)\n"                             \
    "mov %r11, %rdi\ncall open_entry\nmov %rax, %r11\n"                              \
    "mov (%rsp), %rdi\nmov 8(%rsp), %rsi\nmov 16(%rsp), %rdx\nmov 24(%rsp), %rcx\n"  \
    "mov 32(%rsp), %r8\nmov 40(%rsp), %r9\nmov 48(%rsp), %rax\nmov 56(%rsp), %r10\n" \
    "movaps 64(%rsp), %xmm0\nmovaps 80(%rsp), %xmm1\nmovaps 96(%rsp), %xmm2\n"       \
    "movaps 112(%rsp), %xmm3\nmovaps 128(%rsp), %xmm4\nmovaps 144(%rsp), %xmm5\n"    \
    "movaps 160(%rsp), %xmm6\nmovaps 176(%rsp), %xmm7\n"                             \
    "leave\n.cfi_def_cfa %rsp, 8\njmp *%r11\n"

#elif defined(__aarch64__)

#define LANDING "hint 34\n" /* bti c */
#define EXPORTED(call) \
    LANDING "adrp x16, at_" #call "\nldr x16, [x16, :lo12:at_" #call "]\nbr x16\n"
#define FIRST(call) \
    LANDING "adrp x16, at_" #call "\nadd x16, x16, :lo12:at_" #call "\nb first_call\n"
/* x8: where a large result is to be written. */
#define FIRST_CALL                                                                             \
    "stp x29, x30, [sp, -224]!\n.cfi_def_cfa_offset 224\n.cfi_offset x29, -224\n"              \
    ".cfi_offset x30, -216\nmov x29, sp\n"                                                     \
    "stp x0, x1, [sp, 16]\nstp x2, x3, [sp, 32]\nstp x4, x5, [sp, 48]\nstp x6, x7, [sp, 64]\n" \
    "str x8, [sp, 80]\nstp q0, q1, [sp, 96]\nstp q2, q3, [sp, 128]\nstp q4, q5, [sp, 160]\n"   \
    "stp q6, q7, [sp, 192]\n"                                                                  \
    "mov x0, x16\nbl open_entry\nmov x16, x0\n"                                                \
    "ldp x0, x1, [sp, 16]\nldp x2, x3, [sp, 32]\nldp x4, x5, [sp, 48]\nldp x6, x7, [sp, 64]\n" \
    "ldr x8, [sp, 80]\nldp q0, q1, [sp, 96]\nldp q2, q3, [sp, 128]\nldp q4, q5, [sp, 160]\n"   \
    "ldp q6, q7, [sp, 192]\nldp x29, x30, [sp], 224\n.cfi_def_cfa_offset 0\n"                  \
    ".cfi_restore x29\n.cfi_restore x30\nbr x16\n"

#endif

#ifdef EXPORTED

#define FUNCTION(symbol, scope, code)                                        \
    ".p2align 4\n" scope " " symbol "\n.type " symbol ", %function\n" symbol \
    ":\n.cfi_startproc\n" code ".cfi_endproc\n.size " symbol ", . - " symbol "\n"
__asm__(".pushsection .text\n" FUNCTION("first_call", ".local", FIRST_CALL)
#define CALL(call)                            \
    FUNCTION(#call, ".globl", EXPORTED(call)) \
    FUNCTION("first_" #call, ".hidden", FIRST(call)) ".globl first_" #call "\n"
#include "shmem/calls.def"
#undef CALL
            ".popsection\n");

#elif defined(__OPTIMIZE__)

/* Without assembly for this processor: functions whose parameters are all registers of arguments,
 * so that the optimising compiler turns the call into a jump. */
typedef float vector __attribute__((vector_size(16)));
#define REGISTERS                                                                           \
    long a, long b, long c, long d, long e, long f, vector p, vector q, vector r, vector s, \
        vector t, vector u, vector v, vector w
#define NAMES a, b, c, d, e, f, p, q, r, s, t, u, v, w
typedef void forward_fn(REGISTERS);

#define CALL(call)                                                                         \
    __attribute__((visibility("default"))) void exported_##call(REGISTERS) __asm__(#call); \
    void exported_##call(REGISTERS)                                                        \
    {                                                                                      \
        ((forward_fn *)at_##call.target)(NAMES);                                           \
    }                                                                                      \
    void forward_first_##call(REGISTERS) __asm__("first_" #call);                          \
    COLD void forward_first_##call(REGISTERS)                                              \
    {                                                                                      \
        ((forward_fn *)open_entry(&at_##call))(NAMES);                                     \
    }
#include "shmem/calls.def"
#undef CALL

#else
#error "the exported calls of OpenSHMEM need assembly for this processor, or optimisation"
#endif
