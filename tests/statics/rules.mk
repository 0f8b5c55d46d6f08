# Programs with windows over static variables: position-independent executables, as compilers build by
# default, and NAME_fixed, which are not.

define statics_test_rules
STATICS_$(1) := $$(patsubst tests/statics/%.c,%,$$(filter-out %_library.c,$$(wildcard tests/statics/*.c))) \
    statics_all_fixed statics_marked_fixed
$(BUILD)/test/$(1)/statics_%: tests/statics/statics_%.c tests/statics/statics.h include/mpiaccel/mpiaccel.h $$(TEST_HEADERS) $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -fPIE -pie -Iinclude -Itests/mpi $$< -o $$@ -pthread
$(BUILD)/test/$(1)/statics_%_fixed: tests/statics/statics_%.c tests/statics/statics.h include/mpiaccel/mpiaccel.h $$(TEST_HEADERS) $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -fno-pie -no-pie -ffunction-sections -Wl,--gc-sections -Iinclude -Itests/mpi $$< -o $$@ -pthread
$(BUILD)/test/$(1)/libstatics_library.so: tests/statics/statics_library.c include/mpiaccel/mpiaccel.h $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,CC,$$<)$$(CC) $$(TEST_FLAGS) -fPIC -shared -Iinclude $$< -o $$@
$(BUILD)/test/$(1)/statics_dlopen: tests/statics/statics_dlopen.c $(BUILD)/test/$(1)/libstatics_library.so
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -Itests/mpi $$< -o $$@ -ldl
$(BUILD)/test/$(1)/statics_uses: tests/statics/statics_uses.c $(BUILD)/test/$(1)/libstatics_library.so tests/statics/statics.h
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) -fPIE -pie -Iinclude -Itests/mpi $$< -o $$@ -L$(BUILD)/test/$(1) -lstatics_library -Wl,-rpath,'$$$$ORIGIN'
ifneq ($$(MPICXX_$(1)),)
STATICS_$(1) += statics_cxx statics_cxx_marked
$(BUILD)/test/$(1)/statics_cxx: tests/statics/statics_cxx.cpp $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICXX,$$< for $(1))$$(MPICXX_$(1)) $$(CXX_FLAGS) -DMPICH_SKIP_MPICXX -DOMPI_SKIP_MPICXX $$< -o $$@
$(BUILD)/test/$(1)/statics_cxx_marked: tests/statics/statics_cxx.cpp include/mpiaccel/mpiaccel.h $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICXX,$$< for $(1))$$(MPICXX_$(1)) $$(CXX_FLAGS) -DMARKED -Iinclude -DMPICH_SKIP_MPICXX -DOMPI_SKIP_MPICXX $$< -o $$@
endif
ifneq ($$(MPIFORT_$(1)),)
STATICS_$(1) += statics_fortran
$(BUILD)/test/$(1)/statics_fortran: tests/statics/statics_fortran.f90 $(BUILD)/config.mk
	@mkdir -p $(BUILD)/test/$(1)/mod.statics
	$$(call show,MPIFORT,$$< for $(1))$$(MPIFORT_$(1)) -O1 -g -w -fallow-argument-mismatch -J $(BUILD)/test/$(1)/mod.statics $$< -o $$@
endif
tests: $$(addprefix $(BUILD)/test/$(1)/,$$(STATICS_$(1)))
endef
$(foreach abi,$(TEST_ABIS),$(eval $(call statics_test_rules,$(abi))))
