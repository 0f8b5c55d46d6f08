# shellcheck shell=bash
# Completes the subcommands of mpiaccel; what follows `mpiaccel run` as a command of its own; otherwise the
# names of files.
_mpiaccel()
{
    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$("$1" --complete 2>/dev/null | cut -f1)" -- "$2")
    elif [ "${COMP_WORDS[1]}" = run ] && declare -F _command_offset >/dev/null; then
        _command_offset 2
    fi
}
complete -o default -F _mpiaccel mpiaccel
