# Completion of ksched for bash; `ksched completion bash` prints it.
_ksched_names() {
    [[ "${COMP_WORDS[COMP_CWORD]}" == -* ]] && return
    "${COMP_WORDS[0]}" __complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | grep -v "^:"
}
_ksched() {
    local at="" word found=""
    for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
        case "$at $word" in
            " simulate"|" capacity"|" consolidate"|" rightsize"|" drain"|" diff"|" check"|" explain-code"|" explain"|" snapshot"|" demo"|" verify"|" report"|" watch"|" plugins"|" completion"|" versions"|" version"|" help"|" size"|" sweep"|" scenario"|" config"|"size catalog"|"size schema"|"sweep validate"|"sweep schema"|"scenario validate"|"scenario schema"|"config view"|"config validate"|"config migrate"|"config schema") at="${at:+$at }$word" ;;
        esac
    done
    case "$at ${COMP_WORDS[COMP_CWORD-1]}" in
        "simulate --tie-break") found="name random" ;;
        "simulate -o") found="table wide json yaml name html" ;;
        "simulate --output") found="table wide json yaml name html" ;;
        "simulate --detail") found="summary nodes full" ;;
        "simulate --fail-on") found="preemption warning" ;;
        "capacity --tie-break") found="name random" ;;
        "capacity -o") found="table wide json yaml name html" ;;
        "capacity --output") found="table wide json yaml name html" ;;
        "consolidate --tie-break") found="name random" ;;
        "consolidate -o") found="table wide json yaml name markdown html" ;;
        "consolidate --output") found="table wide json yaml name markdown html" ;;
        "rightsize --tie-break") found="name random" ;;
        "rightsize -o") found="table wide json yaml markdown" ;;
        "rightsize --output") found="table wide json yaml markdown" ;;
        "drain --tie-break") found="name random" ;;
        "drain --dry-run") found="none client server" ;;
        "drain --each") found="node zone" ;;
        "drain -o") found="table wide json yaml name html" ;;
        "drain --output") found="table wide json yaml name html" ;;
        "diff --tie-break") found="name random" ;;
        "diff -o") found="table wide json yaml markdown html" ;;
        "diff --output") found="table wide json yaml markdown html" ;;
        "check --tie-break") found="name random" ;;
        "check -o") found="table wide json yaml markdown html github junit sarif" ;;
        "check --output") found="table wide json yaml markdown html github junit sarif" ;;
        "check --replicas") found="min current max all" ;;
        "check --fail-on") found="preemption warning" ;;
        "explain-code -o") found="table json yaml" ;;
        "explain-code --output") found="table json yaml" ;;
        "explain --tie-break") found="name random" ;;
        "explain -o") found="table wide json yaml name html" ;;
        "explain --output") found="table wide json yaml name html" ;;
        "demo -o") found="table wide json yaml name html" ;;
        "demo --output") found="table wide json yaml name html" ;;
        "demo --detail") found="summary nodes full" ;;
        "verify --tie-break") found="name random" ;;
        "verify -o") found="table wide json yaml name" ;;
        "verify --output") found="table wide json yaml name" ;;
        "report -o") found="html" ;;
        "report --output") found="html" ;;
        "watch --tie-break") found="name random" ;;
        "watch -o") found="table json" ;;
        "watch --output") found="table json" ;;
        "plugins -o") found="table wide json yaml name" ;;
        "plugins --output") found="table wide json yaml name" ;;
        "versions -o") found="table wide json yaml name" ;;
        "versions --output") found="table wide json yaml name" ;;
        "size --tie-break") found="name random" ;;
        "size -o") found="table wide json yaml name markdown html" ;;
        "size --output") found="table wide json yaml name markdown html" ;;
        "size catalog --tie-break") found="name random" ;;
        "size catalog -o") found="json yaml" ;;
        "size catalog --output") found="json yaml" ;;
        "sweep --tie-break") found="name random" ;;
        "sweep -o") found="table wide json yaml html csv jsonl parquet" ;;
        "sweep --output") found="table wide json yaml html csv jsonl parquet" ;;
        "config view -o") found="json yaml" ;;
        "config view --output") found="json yaml" ;;
        "config migrate -o") found="json yaml" ;;
        "config migrate --output") found="json yaml" ;;
        "simulate -n"|"simulate --namespace"|"simulate --clone-node"|"simulate --remove-node"|"simulate --uncordon"|"simulate --cordon"|"simulate --label"|"simulate --taint"|"simulate --drain"|"capacity -n"|"capacity --namespace"|"capacity --clone-node"|"capacity --remove-node"|"capacity --uncordon"|"capacity --cordon"|"capacity --label"|"capacity --taint"|"capacity --drain"|"consolidate -n"|"consolidate --namespace"|"consolidate --clone-node"|"consolidate --remove-node"|"consolidate --uncordon"|"consolidate --cordon"|"consolidate --label"|"consolidate --taint"|"consolidate --drain"|"rightsize -n"|"rightsize --namespace"|"rightsize --clone-node"|"rightsize --remove-node"|"rightsize --uncordon"|"rightsize --cordon"|"rightsize --label"|"rightsize --taint"|"rightsize --drain"|"drain -n"|"drain --namespace"|"drain --clone-node"|"drain --remove-node"|"drain --uncordon"|"drain --cordon"|"drain --label"|"drain --taint"|"drain --drain"|"diff -n"|"diff --namespace"|"diff --clone-node"|"diff --remove-node"|"diff --uncordon"|"diff --cordon"|"diff --label"|"diff --taint"|"diff --drain"|"check -n"|"check --namespace"|"check --clone-node"|"check --remove-node"|"check --uncordon"|"check --cordon"|"check --label"|"check --taint"|"check --drain"|"explain -n"|"explain --namespace"|"explain --clone-node"|"explain --remove-node"|"explain --uncordon"|"explain --cordon"|"explain --label"|"explain --taint"|"explain --drain"|"explain --node"|"verify -n"|"verify --namespace"|"watch -n"|"watch --namespace"|"size -n"|"size --namespace"|"size --clone-node"|"size --remove-node"|"size --uncordon"|"size --cordon"|"size --label"|"size --taint"|"size --drain"|"size catalog -n"|"size catalog --namespace"|"sweep -n"|"sweep --namespace"|"sweep --clone-node"|"sweep --remove-node"|"sweep --uncordon"|"sweep --cordon"|"sweep --label"|"sweep --taint"|"sweep --drain") found="$(_ksched_names)" ;;
        *) case "$at" in
            "") found="simulate capacity consolidate rightsize drain diff check explain-code explain snapshot demo verify report watch plugins completion versions version help size sweep scenario config -h --help" ;;
            "simulate") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict -A --all-namespaces -l --selector --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --settle --max-time --max-cycles --orders --ties -o --output --detail --timings --exit-zero --fail-on --no-headers -h --help" ;;
            "capacity") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --mix --max --ignore-pending -o --output --exit-zero --no-headers -h --help" ;;
            "consolidate") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --catalog --keep-headroom --survive --only --force --delete-emptydir-data --time-limit -o --output --no-headers -h --help" ;;
            "rightsize") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --catalog -o --output --exit-zero --no-headers -h --help" ;;
            "drain") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --dry-run --chunk-size --skip-wait-for-delete-timeout -l --selector --each --force --ignore-daemonsets --delete-emptydir-data --delete-local-data --pod-selector --disable-eviction --grace-period --timeout --ignore-pending -o --output --exit-zero --no-headers -h --help $(_ksched_names)" ;;
            "diff") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict -A --all-namespaces -l --selector --to --to-config --to-kube-version --to-feature-gates --to-filename --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario -o --output --expect-no-change --exit-zero -h --help" ;;
            "check") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict -A --all-namespaces -l --selector --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --ignore --baseline --write-baseline -o --output --restart --replicas --exit-zero --fail-on -h --help" ;;
            "explain-code") found="-o --output -h --help" ;;
            "explain") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict -A --all-namespaces -l --selector --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --orders --ties --node --no-fixes --catalog -o --output --exit-zero --no-headers -h --help $(_ksched_names)" ;;
            "snapshot") found="--context --kubeconfig --as --as-group --request-timeout --from -o --output --redact --redact-names --config --redact-config -h --help" ;;
            "demo") found="--kube-version -o --output --detail -h --help" ;;
            "verify") found="--from -n --namespace -A --all-namespaces -l --selector --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse -o --output --exit-zero -h --help" ;;
            "report") found="-o --output -h --help" ;;
            "watch") found="--from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict -A --all-namespaces -l --selector --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse -o --output --for --count -h --help" ;;
            "plugins") found="--kube-version --feature-gates --plugin -o --output -h --help" ;;
            "completion") found="bash zsh fish powershell -h --help" ;;
            "versions") found="-o --output -h --help" ;;
            "version") found="-h --help" ;;
            "help") found="-h --help" ;;
            "size") found="catalog schema --from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --catalog --time-limit --greedy --no-spot -o --output --exit-zero --no-headers -h --help" ;;
            "size catalog") found="--from -n --namespace -A --all-namespaces -l --selector --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --price --rate -o --output -h --help" ;;
            "size schema") found="-h --help" ;;
            "sweep") found="validate schema --from -f --filename -n --namespace -R --recursive --exclude --stdin-filename --allow-empty --pod-template --create-namespace --assume-namespace -k --kustomize --helm --values --strict --no-strict --context --kubeconfig --as --as-group --request-timeout --config --kube-version --feature-gates --plugin --tie-break --seed --sampling --allow-extenders --no-reuse --add-node --clone-node --remove-node --uncordon --cordon --label --taint --drain --delete --scale --scenario --orders --ties --fail --grid --sample --keep --workers --dask --out --resume -o --output --exit-zero --no-headers -h --help" ;;
            "sweep validate") found="-h --help" ;;
            "sweep schema") found="-h --help" ;;
            "scenario") found="validate schema -h --help" ;;
            "scenario validate") found="-h --help" ;;
            "scenario schema") found="-h --help" ;;
            "config") found="view validate migrate schema -h --help" ;;
            "config view") found="--config --kube-version --feature-gates --plugin -o --output -h --help" ;;
            "config validate") found="--kube-version --feature-gates --plugin -h --help" ;;
            "config migrate") found="--to --kube-version --feature-gates --plugin -o --output -h --help" ;;
            "config schema") found="--kube-version -h --help" ;;
        esac ;;
    esac
    mapfile -t COMPREPLY < <(compgen -W "$found" -- "${COMP_WORDS[COMP_CWORD]}")
}
complete -o default -F _ksched ksched kubectl-ksched
