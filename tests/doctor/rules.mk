# The programs of the scripts in tests/doctor.

define doctor_test_rules
$(BUILD)/test/$(1)/windows: tests/doctor/windows.c $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) $$< -o $$@
tests: $(BUILD)/test/$(1)/windows
endef
$(foreach abi,$(TEST_ABIS),$(eval $(call doctor_test_rules,$(abi))))
