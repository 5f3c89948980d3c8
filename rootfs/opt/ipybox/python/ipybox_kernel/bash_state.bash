# SPDX-License-Identifier: Apache-2.0
#
# BASH_ENV of %%bash in a context of E2B's: what the shell before left is there again, and what this one leaves is
# written to IPYBOX_BASH_STATE when it ends. What the environment brings stays the environment's.
unset BASH_ENV
declare -gA __ipybox_was=()
for __ipybox_name in $(compgen -e); do __ipybox_was[$__ipybox_name]=${!__ipybox_name}; done
declare -g __ipybox_state=$IPYBOX_BASH_STATE
unset IPYBOX_BASH_STATE "__ipybox_was[IPYBOX_BASH_STATE]"

__ipybox_save()
{
    {
        printf 'cd -- %q\n' "$PWD"
        declare __ipybox_name
        for __ipybox_name in $(compgen -v); do
            case $__ipybox_name in
                __ipybox_*|BASH*|COMP_*|DIRSTACK|EPOCH*|EUID|FUNCNAME|GROUPS|HISTCMD|LINENO|OLDPWD|OPTIND|PIPESTATUS) continue ;;
                PPID|PWD|RANDOM|SECONDS|SHELLOPTS|SHLVL|SRANDOM|UID|_) continue ;;
            esac
            if [[ ${__ipybox_was[$__ipybox_name]+x} && ${__ipybox_was[$__ipybox_name]} == "${!__ipybox_name}" ]]; then
                continue
            fi
            declare -p -- "$__ipybox_name"
        done
        for __ipybox_name in $(compgen -A function); do
            case $__ipybox_name in __ipybox_*) ;; *) declare -f -- "$__ipybox_name" ;; esac
        done
        alias -p
        shopt -p
        set +o
    } > "$__ipybox_state" 2>/dev/null
}

if [[ -s $__ipybox_state ]]; then
    # shellcheck disable=SC1090  # what __ipybox_save wrote
    source "$__ipybox_state" 2>/dev/null
fi
unset __ipybox_name
trap __ipybox_save EXIT
