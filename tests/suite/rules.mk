# The MPICH test suite under the library, compared with what passes without it. MPICH_SUITE is a program
# that runs the suite of Debian's source package against a host; BASELINES the folder of its results
# without the library, mpich-suite.<openmpi|mpich>.baseline.tsv.
# make check-suite MPICH_SUITE=PROGRAM BASELINES=FOLDER  run the MPICH test suite
MPICH_SUITE ?= mpich-suite
BASELINES ?= .
check-suite: all
	@command -v $(MPICH_SUITE) >/dev/null || { \
	    echo "check-suite: $(MPICH_SUITE) is not here; make check-suite MPICH_SUITE=program BASELINES=folder" >&2; exit 1; }
	for host in $(patsubst ompi,openmpi,$(ABIS)); do \
	    $(MPICH_SUITE) $$host -j 2 --quick --retry 1 --preload $(abspath $(LIB)) \
	        --compare $(BASELINES)/mpich-suite.$$host.baseline.tsv || exit 1; \
	done

.PHONY: check-suite
