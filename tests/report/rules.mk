# Programs of the scripts in tests/report.

define report_test_rules
$(BUILD)/test/$(1)/report_%: tests/report/%.c $(BUILD)/config.mk
	@mkdir -p $$(@D)
	$$(call show,MPICC,$$< for $(1))$$(MPICC_$(1)) $$(TEST_FLAGS) $$< -o $$@
tests: $(patsubst tests/report/%.c,$(BUILD)/test/$(1)/report_%,$(wildcard tests/report/*.c))
endef
$(foreach abi,$(TEST_ABIS),$(eval $(call report_test_rules,$(abi))))
